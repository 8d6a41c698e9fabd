// The keys of `architecture` under `type: cgp`.

#include <array>

#include "encodings/cgp/cgp.h"
#include "encodings/common/stem_and_head.h"

namespace detol::inline encoding {
namespace {

using enum FieldKind;

constexpr std::array<std::string_view, 8> kFunctions = {
    "resset", "convset", "residual", "conv", "max_pool", "avg_pool", "sum", "concat"};

constexpr std::array kGrid = {
    Field{.key = "rows", .kind = kInt, .low = 1, .high = 64},
    Field{.key = "columns", .kind = kInt, .low = 1, .high = 256},
    Field{.key = "levels_back", .kind = kInt, .low = 1, .high = 256},
    Field{.key = "functions", .kind = kWords, .words = kFunctions},
    Field{.key = "channels", .kind = kInts, .low = 1, .high = 16384},
    Field{.key = "kernels", .kind = kInts, .low = 1, .high = 31, .odd = true},
    Field{.key = "min_active", .kind = kInt, .low = 1, .high = 1024},
    Field{.key = "max_active", .kind = kInt, .low = 1, .high = 1024},
};

}  // namespace

std::span<const Field> cgp_schema() {
  static const std::array kCgp = {
      Field{.key = "stem", .kind = kSection, .children = stem_fields()},
      Field{.key = "cgp", .kind = kSection, .required = true, .children = kGrid},
      Field{.key = "head", .kind = kSection, .children = head_fields()}};
  return kCgp;
}

}  // namespace detol::inline encoding
