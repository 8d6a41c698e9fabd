#include "encodings/study/recipe.h"

#include <cassert>
#include <span>
#include <string_view>

#include "core/table.h"

namespace detol {
namespace {

struct OptimizerRow {
  std::string_view name;
  int moments;
};

constexpr OptimizerRow kOptimizers[] = {{"sgd", 1}, {"adamw", 2}, {"rmsprop", 2}, {"lars", 1}};

}  // namespace

int moments_of(const Recipe& recipe) {
  const OptimizerRow* row = find_row(std::span<const OptimizerRow>(kOptimizers), recipe.optimizer);
  assert(row != nullptr);
  return row->moments;
}

}  // namespace detol
