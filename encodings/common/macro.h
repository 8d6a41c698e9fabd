#pragma once

// The skeleton that encodings of repeated cells have in common: the section `macro`. Private to
// encodings/.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "encodings/schema/schema.h"

namespace detol::inline encoding {

struct Macro {
  std::int64_t cells_per_stage = 1;
  std::int64_t stages = 1;
  std::int64_t channels = 16;  // of the first stage
  std::int64_t stem_stride = 1;
};

// Reads the section of this architecture; missing keys keep the values of `defaults`.
Macro macro_of(const nlohmann::json& architecture, const Macro& defaults);

// Returns the keys of the section. `stages` may not be a choice where it decides which choices
// there are.
constexpr std::array<Field, 4> macro_fields(bool stages_may_be_domain) {
  using enum FieldKind;
  return {
      Field{.key = "cells_per_stage", .kind = kInt, .may_be_domain = true, .low = 1, .high = 64},
      Field{.key = "stages",
            .kind = kInt,
            .may_be_domain = stages_may_be_domain,
            .low = 1,
            .high = 8},
      Field{.key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 4096},
      Field{.key = "stem_stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8}};
}

}  // namespace detol::inline encoding
