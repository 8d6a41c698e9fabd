#include "encodings/schema/json_schema.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "encodings/schema/schema_rules.h"
#include "encodings/schema/schema_value.h"
#include "encodings/schema/units.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Schemas = std::vector<std::pair<std::string_view, json>>;

// A number that is whole is written as such: 9, not 9.0.
json as_number(double value) {
  constexpr double kMostExact = 0x1p62;
  const bool is_whole = std::abs(value) <= kMostExact && value == std::floor(value);
  return is_whole ? json(static_cast<std::int64_t>(value)) : json(value);
}

json one_of(std::span<const std::string_view> words) {
  return {{"enum", std::vector<std::string_view>(words.begin(), words.end())}};
}

json number_schema(const Field& field, const char* type) {
  json schema = {{"type", type}};
  if (std::isfinite(field.low)) schema["minimum"] = as_number(field.low);
  if (std::isfinite(field.high)) schema["maximum"] = as_number(field.high);
  if (field.odd) schema["not"] = {{"multipleOf", 2}};
  if (field.words.empty()) return schema;
  return {{"anyOf", {std::move(schema), one_of(field.words)}}};
}

// A text may be written without quotes, so that it looks like a number to YAML.
json text_schema() {
  return {{"type", {"string", "number", "boolean"}}, {"minLength", 1}};
}

json list_schema(json item) {
  return {{"type", "array"},
          {"items", std::move(item)},
          {"minItems", 1},
          {"maxItems", kMostItems},
          {"uniqueItems", true}};
}

// Returns the schema of a single value; `words` replaces those of the field unless it is empty.
json scalar_schema(const Field& field, std::span<const std::string_view> words) {
  switch (field.kind) {
    case FieldKind::kInt:
      return number_schema(field, "integer");
    case FieldKind::kNumber:
      return number_schema(field, "number");
    case FieldKind::kBool:
      return {{"type", "boolean"}};
    case FieldKind::kSize:
      return {{"type", {"string", "number"}}, {"minimum", 0}, {"pattern", size_pattern()}};
    case FieldKind::kDuration:
      return {{"type", "string"}, {"pattern", duration_pattern()}};
    case FieldKind::kAny:
      return {{"type", {"string", "number", "boolean"}}};
    default:
      return words.empty() ? text_schema() : one_of(words);
  }
}

class JsonSchema {
 public:
  explicit JsonSchema(const KeyNotes& notes) : notes_(notes) {}

  json map_of(std::span<const Field> fields, const std::string& path) const {
    json properties = json::object(), required = json::array();
    for (const Field& field : fields) {
      properties[field.key] = value_of(
          field, path.empty() ? std::string(field.key) : fmt::format("{}.{}", path, field.key));
      if (field.required) required.push_back(field.key);
    }
    json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
  }

 private:
  json value_of(const Field& field, const std::string& path) const {
    if (const auto known = notes_.references.find(path); known != notes_.references.end())
      return {{"$ref", known->second}};
    json schema = shape_of(field, path);
    const auto usual = notes_.defaults.find(path);
    if (usual != notes_.defaults.end()) schema["default"] = usual->second;
    return schema;
  }

  json shape_of(const Field& field, const std::string& path) const {
    switch (field.kind) {
      case FieldKind::kSection:
        return map_of(field.children, path);
      case FieldKind::kList: {
        json list = {{"type", "array"}, {"items", map_of(field.children, path)}};
        list["maxItems"] = kMostItems;
        if (field.required) list["minItems"] = 1;
        return list;
      }
      case FieldKind::kWords:
      case FieldKind::kInts:
        return list_schema(single(item_of_list(field), path));
      case FieldKind::kTextOrTexts:
        return {
            {"anyOf",
             {single(item_of_list(field), path), list_schema(single(item_of_list(field), path))}}};
      case FieldKind::kTexts:
      case FieldKind::kChoices:
        return {{"type", "object"},
                {"minProperties", 1},
                {"additionalProperties", value_of(value_of_any_name(field.kind), path + ".*")}};
      case FieldKind::kNamed:
        return {{"if", {{"type", "object"}, {"required", {"name"}}}},
                {"then", named(field, path)},
                {"else", single_or_choice(field, path)}};
      case FieldKind::kFree:
        return json::object();
      default:
        return single_or_choice(field, path);
    }
  }

  std::span<const std::string_view> words_of(const Field& field, const std::string& path) const {
    const auto known = notes_.words.find(path);
    return known == notes_.words.end() ? field.words : std::span(known->second);
  }

  json single(const Field& field, const std::string& path) const {
    const std::span<const std::string_view> words = words_of(field, path);
    json schema = scalar_schema(field, words);
    if (words.empty()) schema["description"] = describe(field);
    return schema;
  }

  json single_or_choice(const Field& field, const std::string& path) const {
    if (!field.may_be_domain) return single(field, path);
    return {
        {"if", {{"type", "object"}}}, {"then", choice(field, path)}, {"else", single(field, path)}};
  }

  json named(const Field& field, const std::string& path) const {
    const Field name = name_of_named(field);
    json schema = map_of(field.children, path);
    schema["properties"]["name"] = single_or_choice(name, path);
    schema["required"] = {"name"};
    if (field.children.empty()) schema["additionalProperties"] = text_schema();
    return schema;
  }

  json choice(const Field& field, const std::string& path) const {
    Schemas types;
    for (std::string_view name : choice_types_for(field.kind)) {
      for (const TypeRow& row : choice_types()) {
        if (row.name == name) types.emplace_back(name, choice_of(row, field, path));
      }
    }
    return json_schema_by_word(choice_type_field().key, types);
  }

  // Returns the map of one type of choice, whose values the field must accept.
  json choice_of(const TypeRow& type, const Field& field, const std::string& path) const {
    json schema = map_of(type.keys, path);
    json& properties = schema["properties"];
    for (const Field& key : type.keys) {
      const std::string name(key.key);
      if (name == choice_type_field().key) properties[name] = {{"const", type.name}};
      if (name == "low" || name == "high")
        properties[name] = scalar_schema(bound_of(field, key), {});
      if (name == "choices") properties[name] = list_schema(single(field, path));
    }
    return schema;
  }

  const KeyNotes& notes_;
};

}  // namespace

json json_schema_of(std::span<const Field> fields, const KeyNotes& notes, const std::string& path) {
  return JsonSchema(notes).map_of(fields, path);
}

json json_schema_by_word(std::string_view key,
                         std::span<const std::pair<std::string_view, json>> schemas) {
  json words = json::array(), branches = json::array();
  for (const auto& [word, schema] : schemas) {
    words.push_back(word);
    const json is_it = {{"properties", {{std::string(key), {{"const", word}}}}},
                        {"required", {std::string(key)}}};
    branches.push_back({{"if", is_it}, {"then", schema}});
  }
  return {{"type", "object"},
          {"required", {std::string(key)}},
          {"properties", {{std::string(key), {{"enum", std::move(words)}}}}},
          {"allOf", std::move(branches)}};
}

}  // namespace detol::inline encoding
