#pragma once

// A JSON Schema applied to a value: the keywords that `detol schema` writes. A schema with another
// keyword is refused, so that none is passed over.

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>

namespace detol::testing_support {

class JsonSchemaCheck {
 public:
  explicit JsonSchemaCheck(const nlohmann::json& schema) : root_(schema) {}

  bool accepts(const nlohmann::json& value) const { return accepts(root_, value); }

 private:
  using json = nlohmann::json;

  bool accepts(const json& schema, const json& value) const {
    for (const auto& [keyword, rule] : schema.items()) {
      if (!keeps(schema, keyword, rule, value)) return false;
    }
    return true;
  }

  bool keeps(const json& schema, const std::string& keyword, const json& rule,
             const json& value) const {
    static const std::map<std::string,
                          bool (JsonSchemaCheck::*)(const json&, const json&, const json&) const>
        kKeywords = {{"type", &JsonSchemaCheck::has_type},
                     {"properties", &JsonSchemaCheck::has_properties},
                     {"additionalProperties", &JsonSchemaCheck::has_others},
                     {"items", &JsonSchemaCheck::has_items},
                     {"if", &JsonSchemaCheck::has_branch},
                     {"required", &JsonSchemaCheck::has_required}};
    if (const auto known = kKeywords.find(keyword); known != kKeywords.end())
      return (this->*known->second)(schema, rule, value);
    const auto takes = [&](const json& one) { return accepts(one, value); };
    if (keyword == "$ref")
      return takes(root_.at(json::json_pointer(rule.get<std::string>().substr(1))));
    if (keyword == "anyOf") return std::any_of(rule.begin(), rule.end(), takes);
    if (keyword == "allOf") return std::all_of(rule.begin(), rule.end(), takes);
    if (keyword == "not") return !takes(rule);
    if (keyword == "const") return value == rule;
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    return keeps_size(keyword, rule, value);
  }

  static bool keeps_size(const std::string& keyword, const json& rule, const json& value) {
    for (const char* plain :
         {"$schema", "$defs", "title", "description", "default", "then", "else"})
      if (keyword == plain) return true;
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "maximum") return !value.is_number() || value <= rule;
    if (keyword == "multipleOf") return !value.is_number_integer() || value.get<long>() % 2 == 0;
    if (keyword == "minItems") return !value.is_array() || value.size() >= rule;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= rule;
    if (keyword == "minProperties") return !value.is_object() || value.size() >= rule;
    if (keyword == "minLength")
      return !value.is_string() || value.get<std::string>().size() >= rule;
    if (keyword == "pattern")
      return !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    if (keyword == "uniqueItems") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        if (std::count(value.begin(), value.end(), value[i]) > 1) return false;
      return true;
    }
    throw std::runtime_error("a keyword that the check does not know: " + keyword);
  }

  bool has_type(const json&, const json& rule, const json& value) const {
    const json types = rule.is_array() ? rule : json::array({rule});
    return std::any_of(types.begin(), types.end(), [&](const json& type) {
      return type == (value.is_boolean() ? "boolean" : value.type_name()) ||
             (type == "integer" && value.is_number_integer());
    });
  }

  bool has_properties(const json&, const json& rule, const json& value) const {
    if (!value.is_object()) return true;
    return std::all_of(rule.items().begin(), rule.items().end(), [&](const auto& one) {
      return !value.contains(one.key()) || accepts(one.value(), value[one.key()]);
    });
  }

  bool has_others(const json& schema, const json& rule, const json& value) const {
    if (!value.is_object()) return true;
    static const json kNone = json::object();
    const json& known = schema.contains("properties") ? schema["properties"] : kNone;
    return std::all_of(value.items().begin(), value.items().end(), [&](const auto& one) {
      if (known.contains(one.key())) return true;
      return rule.is_boolean() ? rule.get<bool>() : accepts(rule, one.value());
    });
  }

  bool has_items(const json&, const json& rule, const json& value) const {
    return !value.is_array() || std::all_of(value.begin(), value.end(),
                                            [&](const json& one) { return accepts(rule, one); });
  }

  bool has_required(const json&, const json& rule, const json& value) const {
    return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const json& key) {
      return value.contains(key.get<std::string>());
    });
  }

  bool has_branch(const json& schema, const json& rule, const json& value) const {
    const char* branch = accepts(rule, value) ? "then" : "else";
    return !schema.contains(branch) || accepts(schema[branch], value);
  }

  const json& root_;
};

}  // namespace detol::testing_support
