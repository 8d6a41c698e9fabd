#include "encodings/schema/schema_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/schema/mistakes.h"
#include "encodings/schema/schema_rules.h"
#include "encodings/schema/schema_value.h"
#include "encodings/schema/yaml_value.h"
#include "encodings/space/space.h"
#include "encodings/space/value_json.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

const Field* find_field(std::span<const Field> fields, std::string_view key) {
  const auto at = std::ranges::find(fields, key, &Field::key);
  return at == fields.end() ? nullptr : &*at;
}

// Returns how to write as a choice what stands there as a list or as a map without its type.
std::string choice_for(const Field& field, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kMap && !node.entries.empty()) {
    const bool is_whole = field.kind == FieldKind::kInt;
    return fmt::format(", or a choice, whose type is missing here: {{type: {}, ...}}",
                       is_whole                           ? "int"
                       : field.kind == FieldKind::kNumber ? "float"
                                                          : "categorical");
  }
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) return "";
  std::string words;
  for (const YamlNode& item : node.items) words += (words.empty() ? "" : ", ") + item.scalar;
  return fmt::format(", or a choice: {{type: categorical, choices: [{}]}}", words.substr(0, 80));
}

std::vector<std::string_view> keys_of(std::span<const Field> fields) {
  std::vector<std::string_view> keys;
  for (const Field& one : fields) keys.push_back(one.key);
  return keys;
}

// Returns the key that unknown_name() offers for an unknown one; empty if there is none.
std::string key_meant_by(std::string_view key, std::span<const std::string_view> known) {
  const std::string_view here = said_here("key", key, known);
  return here.empty() ? did_you_mean(key, known).value_or("") : std::string(here);
}

// Returns the name of a choice: its key if it is under `parameters`, else its path.
std::string choice_name(const std::string& path) {
  constexpr std::string_view kParameters = "parameters.";
  return path.starts_with(kParameters) ? path.substr(kParameters.size()) : path;
}

std::string parent_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// Returns "; did you mean 'training.epochs'?" if a section among `fields` has that key; else "".
std::string section_with(std::span<const Field> fields, std::string_view key,
                         const std::string& path) {
  for (const Field& one : fields) {
    if (one.kind == FieldKind::kSection && find_field(one.children, key) != nullptr)
      return fmt::format("; did you mean '{}.{}'?", joined(path, one.key), key);
  }
  return "";
}

}  // namespace

Result<json> SchemaReader::section(const YamlNode& node, std::span<const Field> fields,
                                   const std::string& path) {
  const std::string where = path.empty() ? "" : path + ": ";
  if (node.kind != YamlNode::Kind::kMap) {
    const Field whole{.key = "file", .kind = FieldKind::kSection, .children = fields};
    return source_.error(node.at, mistake_in(whole, node, path));
  }
  json values = json::object();
  Mistakes mistakes;
  std::vector<std::string> meant;  // by unknown keys: they are not missed, too
  for (const YamlEntry& entry : node.entries) {
    const Field* known = find_field(fields, entry.key);
    if (known == nullptr) {
      mistakes.note(unknown_key(entry, fields, path).value());
      meant.push_back(key_meant_by(entry.key, keys_of(fields)));
      continue;
    }
    json value = mistakes.value_or_noted(field(entry.value, *known, joined(path, entry.key)));
    if (!value.is_null()) values[entry.key] = std::move(value);
  }
  for (const Field& one : fields) {
    const bool is_there =
        node.find(one.key) != nullptr || std::ranges::find(meant, one.key) != meant.end();
    if (one.required && !is_there)
      mistakes.note(source_
                        .error(node.at, fmt::format("{}the key '{}' is missing; it must be {}",
                                                    where, one.key, describe(one)))
                        .value());
  }
  return mistakes.or_else(std::move(values));
}

tl::unexpected<Error> SchemaReader::unknown_key(const YamlEntry& entry,
                                                std::span<const Field> fields,
                                                const std::string& path) const {
  const std::string where = path.empty() ? "" : path + ": ";
  const std::string inner = section_with(fields, entry.key, path);
  if (!inner.empty())
    return source_.error(entry.at,
                         fmt::format("{}unknown key {}{}", where, in_quotes(entry.key), inner));
  return source_.error(entry.at, where + unknown_name("key", entry.key, keys_of(fields)));
}

Result<json> SchemaReader::field(const YamlNode& node, const Field& field,
                                 const std::string& path) {
  switch (field.kind) {
    case FieldKind::kSection:
      return section(node, field.children, path);
    case FieldKind::kList:
      return list(node, field, path);
    case FieldKind::kWords:
    case FieldKind::kInts:
      return scalars(node, field, path);
    case FieldKind::kTextOrTexts: {
      if (node.kind == YamlNode::Kind::kList) return scalars(node, field, path);
      DETOL_ASSIGN(json one, scalar(node, item_of_list({.key = field.key}), path));
      return json::array({std::move(one)});
    }
    case FieldKind::kTexts:
    case FieldKind::kChoices:
      return named_values(node, field, path);
    case FieldKind::kFree:
      return json();
    case FieldKind::kNamed:
      if (node.kind == YamlNode::Kind::kMap && node.find("name") != nullptr)
        return named(node, field, path);
      break;
    default:
      break;
  }
  const bool is_choice = node.kind == YamlNode::Kind::kMap && node.find("type") != nullptr;
  Result<json> value =
      is_choice && field.may_be_domain ? choice(node, field, path) : scalar(node, field, path);
  if (value && field.kind == FieldKind::kNamed) return json{{"name", std::move(*value)}};
  return value;
}

Result<std::int64_t> SchemaReader::repeats(const YamlNode& item, const Field& list,
                                           const std::string& path) {
  const Field* rule = find_field(list.children, "repeat");
  const YamlEntry* given = item.find("repeat");
  if (rule == nullptr || given == nullptr) return 1;
  DETOL_ASSIGN(const json count, scalar(given->value, *rule, path + ".repeat"));
  return count.get<std::int64_t>();
}

Result<json> SchemaReader::list(const YamlNode& node, const Field& field, const std::string& path) {
  if (node.kind != YamlNode::Kind::kList)
    return source_.error(node.at, mistake_in(field, node, path));
  if (field.required && node.items.empty())
    return source_.error(node.at, path + " is empty; it needs at least one item");
  json values = json::array();
  Mistakes mistakes;
  for (const YamlNode& item : node.items) {
    DETOL_ASSIGN(const std::int64_t copies,
                 repeats(item, field, fmt::format("{}[{}]", path, values.size())));
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      if (values.size() == kMostItems)
        return source_.error(item.at, fmt::format("{} has more than {} items", path, kMostItems));
      json value = mistakes.value_or_noted(
          section(item, field.children, fmt::format("{}[{}]", path, values.size())));
      if (value.is_object()) value.erase("repeat");
      values.push_back(std::move(value));
      if (values.back().is_null()) break;  // once is enough
    }
  }
  return mistakes.or_else(std::move(values));
}

Result<json> SchemaReader::scalars(const YamlNode& node, const Field& field,
                                   const std::string& path) {
  if (node.kind != YamlNode::Kind::kList || node.items.empty())
    return source_.error(node.at, fmt::format("{} must be {}", path, describe(field)));
  if (node.items.size() > kMostItems)
    return source_.error(node.at, fmt::format("{} has more than {} items", path, kMostItems));
  const Field item = item_of_list(field);
  json values = json::array();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    DETOL_ASSIGN(json value, scalar(node.items[i], item, fmt::format("{}[{}]", path, i)));
    if (std::ranges::find(values, value) != values.end())
      return source_.error(node.items[i].at,
                           fmt::format("{}: {} is there twice", path, node.items[i].scalar));
    values.push_back(std::move(value));
  }
  return values;
}

Result<json> SchemaReader::named_values(const YamlNode& node, const Field& field,
                                        const std::string& path) {
  if (node.kind != YamlNode::Kind::kMap || node.entries.empty())
    return source_.error(node.at, mistake_in(field, node, path));
  const Field rule = value_of_any_name(field.kind);
  json values = json::object();
  Mistakes mistakes;
  for (const YamlEntry& entry : node.entries)
    values[entry.key] =
        mistakes.value_or_noted(this->field(entry.value, rule, joined(path, entry.key)));
  return mistakes.or_else(std::move(values));
}

Result<json> SchemaReader::named(const YamlNode& node, const Field& field,
                                 const std::string& path) {
  const Field name = name_of_named(field);
  if (!field.children.empty()) {
    std::vector<Field> fields(field.children.begin(), field.children.end());
    fields.push_back(name);
    return section(node, fields, path);
  }
  json values = json::object();
  for (const YamlEntry& entry : node.entries) {
    const Field rule = entry.key == "name" ? name : Field{.key = entry.key};
    DETOL_ASSIGN(json value, scalar(entry.value, rule, joined(path, entry.key)));
    values[entry.key] = std::move(value);
  }
  return values;
}

Result<json> SchemaReader::scalar(const YamlNode& node, const Field& field,
                                  const std::string& path) {
  if (const auto value = typed_value(field, node)) return json_value(*value);
  if (field.may_be_domain && node.kind != YamlNode::Kind::kScalar && node.find("type") == nullptr)
    return source_.error(node.at, mistake_in(field, node, path) + choice_for(field, node));
  const bool is_choice = node.kind == YamlNode::Kind::kMap && node.find("type") != nullptr;
  const std::string no_choice = is_choice ? " and cannot be searched" : "";
  return source_.error(node.at, mistake_in(field, node, path) + no_choice);
}

Result<const TypeRow*> SchemaReader::choice_type(const YamlNode& node, const Field& field,
                                                 const std::string& path) {
  const YamlNode& given = node.find("type")->value;
  DETOL_ASSIGN(const json type, scalar(given, choice_type_field(), path + ".type"));
  const TypeRow* row = find_row(choice_types(), type.get<std::string>());
  const std::vector<std::string_view> types = choice_types_for(field.kind);
  if (std::ranges::find(types, row->name) == types.end()) {
    return source_.error(
        given.at, fmt::format("{} must be {}, which a {} choice cannot be; accepted: {}", path,
                              describe(field), row->name, join(types)));
  }
  return row;
}

Result<void> SchemaReader::check_bounds(const YamlNode& node, const Field& field,
                                        const std::string& path) const {
  for (std::string_view end : {"low", "high"}) {
    const YamlEntry* entry = node.find(end);
    if (entry == nullptr || typed_value(field, entry->value)) continue;
    return source_.error(entry->value.at,
                         mistake_in(field, entry->value, fmt::format("{}: {}", path, end)));
  }
  return {};
}

Result<std::vector<Value>> SchemaReader::choices(const YamlNode& list, const Field& field,
                                                 const std::string& path) const {
  if (list.kind != YamlNode::Kind::kList)
    return source_.error(list.at, path + " must be a list, as [a, b]");
  if (list.items.size() > kMostItems)
    return source_.error(list.at, fmt::format("{} has more than {} items", path, kMostItems));
  std::vector<Value> values;
  for (const YamlNode& item : list.items) {
    const auto value = typed_value(field, item);
    if (!value) return source_.error(item.at, mistake_in(field, item, path));
    values.push_back(*value);
  }
  return values;
}

Result<json> SchemaReader::choice(const YamlNode& node, const Field& field,
                                  const std::string& path) {
  DETOL_ASSIGN(const TypeRow* row, choice_type(node, field, path));
  DETOL_ASSIGN(const json keys, section(node, row->keys, path));
  DETOL_TRY(check_bounds(node, field, path));

  FoundDomain found;
  found.scope = parent_of(choice_name(path));
  found.at = node.at;
  found.when = node.find("when");
  if (field.required && found.when != nullptr) {
    return source_.error(found.when->at, path +
                                             ": when: it must always have a value, so it cannot "
                                             "depend on another choice; leave out `when`");
  }
  Domain& domain = found.domain;
  domain.name = choice_name(path);
  domain.kind = row->kind;
  domain.low = keys.value("low", 0.0);
  domain.high = keys.value("high", 0.0);
  domain.step = keys.value("step", row->kind == DomainKind::kInt ? 1.0 : 0.0);
  domain.log = keys.value("log", false);
  domain.ordered = keys.value("ordered", false);
  if (field.odd && row->kind == DomainKind::kInt && domain.low < domain.high &&
      static_cast<std::int64_t>(domain.step) % 2 != 0) {
    return source_.error(node.at, path + " must be odd; give an even step");
  }
  if (const YamlEntry* list = node.find("choices"); list != nullptr) {
    DETOL_ASSIGN(domain.choices, choices(list->value, field, path + ".choices"));
  }
  if (const auto mistake = mistake_in(domain)) return source_.error(node.at, *mistake);
  domains_.push_back(std::move(found));
  return json{{"$", domains_.back().domain.name}};
}

std::optional<double> code_of(const Domain& domain, const YamlNode& scalar) {
  if (scalar.kind != YamlNode::Kind::kScalar) return std::nullopt;
  const auto is_text = [](const Value& value) {
    return std::holds_alternative<std::string>(value);
  };
  for (const Value& value : {written_value(scalar), Value(scalar.scalar)}) {
    const auto code = domain.code_of(value);
    if (code && is_text(domain.value_of(*code)) == is_text(value)) return code;
  }
  return domain.code_of(plain_value(scalar));
}

}  // namespace detol::inline encoding
