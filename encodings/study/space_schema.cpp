#include "encodings/study/space_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/schema/json_schema.h"
#include "encodings/study/encodings.h"
#include "encodings/study/study_config.h"
#include "encodings/study/study_fields.h"
#include "encodings/study/training_settings.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Schemas = std::vector<std::pair<std::string_view, json>>;

constexpr const char* kArchitectureReference = "#/$defs/architecture";

// Returns the defaults of the recipe's settings. That of the loss depends on the task.
std::map<std::string, json, std::less<>> defaults_of_settings() {
  const Recipe usual;
  std::map<std::string, json, std::less<>> defaults;
  for (const TrainingSetting& one : training_settings()) {
    if (one.field.required || one.field.key == "loss") continue;
    std::visit(
        [&](auto member) {
          const json value = usual.*member;
          if (!value.is_array()) defaults[fmt::format("{}.{}", one.section, one.field.key)] = value;
        },
        one.member);
  }
  return defaults;
}

KeyNotes notes_of(const SpaceWords& words) {
  return {.words = {{"search.algorithm", words.algorithms},
                    {"search.pruner", words.pruners},
                    {"data.format", words.formats}},
          .defaults = defaults_of_settings(),
          .references = {{"architecture", kArchitectureReference}}};
}

// Returns the metrics that trained networks can have.
std::vector<std::string_view> metrics_of_training() {
  std::vector<std::string_view> names(kCostMetrics.begin(), kCostMetrics.end());
  for (const TaskRow& task : tasks()) {
    for (std::string_view metric : task.metrics) {
      if (std::ranges::find(names, metric) == names.end()) names.push_back(metric);
    }
  }
  return names;
}

json architecture_schema(const KeyNotes& notes) {
  Schemas schemas;
  for (const EncodingRow& row : encodings())
    schemas.emplace_back(row.name,
                         json_schema_of(architecture_fields(&row), notes, "architecture"));
  return json_schema_by_word("type", schemas);
}

json function_schema(const KeyNotes& notes) {
  const std::vector<std::string_view> names = names_of(functions());
  Schemas schemas;
  for (const FunctionRow& row : functions())
    schemas.emplace_back(row.name, json_schema_of(function_fields(&row, names), notes, "function"));
  return json_schema_by_word("name", schemas);
}

json schema_of_kind(const StudyKind& kind, KeyNotes notes) {
  const bool trains = &kind == &study_kinds().back();
  if (trains) {
    notes.words["objectives.metric"] = metrics_of_training();
    notes.words["constraints.metric"] = metrics_of_training();
  } else {
    notes.defaults.clear();
  }
  json schema = json_schema_of(kind.fields, notes);
  if (kind.section == "function") schema["properties"]["function"] = function_schema(notes);
  if (kind.needs_choices) {
    const auto needs = [](const char* key) { return json{{"required", json::array({key})}}; };
    schema["anyOf"] = {needs("parameters"), needs("architecture")};
  }
  return schema;
}

}  // namespace

json space_schema(const SpaceWords& words) {
  const KeyNotes notes = notes_of(words);
  const std::span<const StudyKind> kinds = study_kinds();
  json schema = schema_of_kind(kinds.back(), notes);
  for (std::size_t i = kinds.size() - 1; i-- > 0;) {
    schema = {{"if", {{"required", json::array({kinds[i].section})}}},
              {"then", schema_of_kind(kinds[i], notes)},
              {"else", std::move(schema)}};
  }
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "A space file of detol";
  schema["description"] = "Every key is explained in docs/space-file.md.";
  schema["type"] = "object";
  schema["$defs"] = {{"architecture", architecture_schema(notes)}};
  return schema;
}

}  // namespace detol::inline encoding
