#include "export/json_text.h"

namespace detol::inline exporting {

using nlohmann::json;

std::string as_utf8(const std::string& text) {
  return json_or_discarded(compact(json(text))).get<std::string>();
}

}  // namespace detol::inline exporting
