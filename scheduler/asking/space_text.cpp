#include "scheduler/asking/space_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "encodings/space/value_json.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(json_value<Json>(value));
  return list;
}

Json json_of(const Domain& domain) {
  Json range;
  switch (domain.kind) {
    case DomainKind::kFloat:
      range = {{"type", "float"}, {"low", domain.low}, {"high", domain.high}};
      break;
    case DomainKind::kInt:
      range = {{"type", "int"},
               {"low", static_cast<std::int64_t>(domain.low)},
               {"high", static_cast<std::int64_t>(domain.high)}};
      break;
    case DomainKind::kCategorical:
      range = {{"type", "categorical"}, {"choices", json_of(domain.choices)}};
      break;
    case DomainKind::kBool:
      range = {{"type", "bool"}};
      break;
  }
  const bool is_int = domain.kind == DomainKind::kInt;
  if (domain.step > (is_int ? 1 : 0))
    range["step"] = is_int ? Json(static_cast<std::int64_t>(domain.step)) : Json(domain.step);
  if (domain.log) range["log"] = true;
  if (domain.ordered) range["ordered"] = true;
  if (domain.when) range["when"] = {{domain.when->parent, json_of(domain.when->values)}};
  return range;
}

// Returns the option as the space file has it: a number or a word.
Json json_of(const std::string& option) {
  const Json number = json_or_discarded<Json>(option);
  return number.is_number() ? number : Json(option);
}

Json named(const std::string& name, const std::map<std::string, std::string>& options) {
  Json section = {{"name", name}};
  for (const auto& [key, value] : options) section[key] = json_of(value);
  return section;
}

}  // namespace

Result<StudyConfig> external_config(const Space& space, const StudyOptions& options) {
  Json parameters = Json::object();
  for (const Domain& domain : space.domains()) parameters[domain.name] = json_of(domain);
  Json objectives = Json::array();
  for (const Objective& one : options.objectives)
    objectives.push_back({{"metric", one.metric}, {"direction", to_text(one.direction)}});
  Json external = Json::object();
  if (options.steps > 0) external["steps"] = options.steps;
  Json file = {{"version", 1},
               {"study", options.name},
               {"seed", options.seed},
               {"external", std::move(external)},
               {"parameters", std::move(parameters)},
               {"objectives", std::move(objectives)},
               {"search",
                {{"algorithm", named(options.algorithm, options.algorithm_options)},
                 {"pruner", named(options.pruner, options.pruner_options)}}}};
  if (!options.warm_start) file["search"]["warm_start"] = "none";
  for (const auto& trial : options.initial_trials) {
    Json candidate = Json::object();
    for (const auto& [name, value] : trial) candidate[name] = json_value<Json>(value);
    file["search"]["initial_trials"].push_back(std::move(candidate));
  }
  const std::string text = compact(file);
  if (text.find("\xef\xbf\xbd") != std::string::npos)  // compact() wrote it for such bytes
    return fail(ErrorCode::kUsage, "a name or a choice of the study is not UTF-8");
  return load_study_config(text, fmt::format("study {}", options.name));
}

}  // namespace detol::inline scheduler
