#include "encodings/common/macro.h"

#include <nlohmann/json.hpp>

namespace detol::inline encoding {

Macro macro_of(const nlohmann::json& architecture, const Macro& defaults) {
  const nlohmann::json section = architecture.value("macro", nlohmann::json::object());
  return {.cells_per_stage = section.value("cells_per_stage", defaults.cells_per_stage),
          .stages = section.value("stages", defaults.stages),
          .channels = section.value("channels", defaults.channels),
          .stem_stride = section.value("stem_stride", defaults.stem_stride)};
}

}  // namespace detol::inline encoding
