#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"
#include "core/utf8.h"
#include "knowledge/event_json.h"

namespace detol::inline knowledge {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string to_json(std::span<const Objective> objectives) {
  Json list = Json::array();
  for (const Objective& objective : objectives)
    list.push_back({{"metric", objective.metric}, {"direction", to_text(objective.direction)}});
  return compact(list);
}

Result<std::vector<Objective>> objectives_from(std::string_view text) {
  try {
    std::vector<Objective> objectives;
    for (const Json& item : json_or_discarded<Json>(text)) {
      const auto metric = item.at("metric").get<std::string>();
      const auto direction = item.at("direction").get<std::string>();
      if (direction != "minimize" && direction != "maximize") {
        return fail(ErrorCode::kStorage,
                    fmt::format("malformed objectives: the direction {}", in_quotes(direction)));
      }
      objectives.push_back(direction == "minimize" ? minimize(metric) : maximize(metric));
    }
    return objectives;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kStorage,
                fmt::format("malformed objectives: {}", printable_excerpt(error.what())));
  }
}

}  // namespace detol::inline knowledge
