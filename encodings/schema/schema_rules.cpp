#include "encodings/schema/schema_rules.h"

#include <algorithm>
#include <array>

namespace detol::inline encoding {
namespace {

constexpr std::array<std::string_view, 4> kTypes = {"float", "int", "categorical", "bool"};
constexpr Field kType = {.key = "type", .required = true, .words = kTypes};
constexpr Field kWhen = {.key = "when", .kind = FieldKind::kFree};
constexpr Field kLog = {.key = "log", .kind = FieldKind::kBool};

constexpr std::array kFloatKeys = {
    kType,
    Field{.key = "low", .kind = FieldKind::kNumber, .required = true},
    Field{.key = "high", .kind = FieldKind::kNumber, .required = true},
    Field{.key = "step", .kind = FieldKind::kNumber, .low = 0},
    kLog,
    kWhen};
constexpr std::array kIntKeys = {kType,
                                 Field{.key = "low", .kind = FieldKind::kInt, .required = true},
                                 Field{.key = "high", .kind = FieldKind::kInt, .required = true},
                                 Field{.key = "step", .kind = FieldKind::kInt, .low = 1},
                                 kLog,
                                 kWhen};
constexpr std::array kCategoricalKeys = {
    kType, Field{.key = "choices", .kind = FieldKind::kFree, .required = true},
    Field{.key = "ordered", .kind = FieldKind::kBool}, kWhen};
constexpr std::array kBoolKeys = {kType, kWhen};

constexpr std::array kTypeRows = {
    TypeRow{"float", DomainKind::kFloat, kFloatKeys},
    TypeRow{"int", DomainKind::kInt, kIntKeys},
    TypeRow{"categorical", DomainKind::kCategorical, kCategoricalKeys},
    TypeRow{"bool", DomainKind::kBool, kBoolKeys},
};

}  // namespace

std::span<const TypeRow> choice_types() {
  return kTypeRows;
}

const Field& choice_type_field() {
  return kType;
}

std::vector<std::string_view> choice_types_for(FieldKind kind) {
  if (kind == FieldKind::kInt) return {"int", "categorical"};
  if (kind == FieldKind::kNumber) return {"float", "int", "categorical"};
  if (kind == FieldKind::kBool) return {"bool", "categorical"};
  if (kind == FieldKind::kAny) return {kTypes.begin(), kTypes.end()};
  return {"categorical"};
}

Field bound_of(const Field& field, const Field& key) {
  Field bound = key;
  bound.low = std::max(key.low, field.low);
  bound.high = std::min(key.high, field.high);
  bound.odd = field.odd;
  return bound;
}

Field name_of_named(const Field& field) {
  Field name = field;
  name.key = "name";
  name.kind = FieldKind::kWord;
  name.children = {};
  return name;
}

Field value_of_any_name(FieldKind kind) {
  if (kind == FieldKind::kTexts) return {.key = "text"};
  return {.key = "value", .kind = FieldKind::kAny, .may_be_domain = true};
}

Field item_of_list(const Field& field) {
  Field item = field;
  item.kind = field.kind == FieldKind::kInts ? FieldKind::kInt : FieldKind::kWord;
  return item;
}

}  // namespace detol::inline encoding
