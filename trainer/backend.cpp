#include "trainer/backend.h"

#include <array>

#include "trainer/reference/reference.h"

namespace detol {
namespace {

constexpr std::array kBackends = {
    BackendRow{"reference", "plain loops, the oracle the others are tested against",
               compile_reference},
};

}  // namespace

std::span<const BackendRow> backends() {
  return kBackends;
}

}  // namespace detol
