#include "core/json_text.h"
#include "report/panels.h"

namespace detol::inline report {

// A file that cannot be read is as if there were none: it is no part of the knowledge base.
Json landscapes(const ReportSource& source) {
  Json shown = Json::array();
  for (const std::string& text : source.landscapes) {
    Json one = json_or_discarded<Json>(text);
    if (one.is_object() && one.contains("random") && one.contains("path"))
      shown.push_back(std::move(one));
  }
  if (!shown.empty()) return {{"shown", std::move(shown)}};
  if (!source.config.trains()) return nullptr;
  return {{"why", "No trial was trained once more for its loss landscape; `detol landscape " +
                      source.study.name + "` does that."}};
}

}  // namespace detol::inline report
