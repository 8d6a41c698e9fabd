#pragma once

// ParameterReference: a value of the architecture's section as the graph of a candidate needs it.
// The value is a constant or a choice ({"$": name}), whose value is found by its code, without
// text. Immutable. Private to encodings/.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/space/space.h"

namespace detol::inline encoding {

// SectionValue is a constant, or the position of a choice.
struct SectionValue {
  std::optional<Value> constant;      // nullopt: the value is a choice, or absent
  std::optional<std::size_t> choice;  // the position of its domain
};

SectionValue section_value(const nlohmann::json& value, const Space& space);
SectionValue section_value_at(const nlohmann::json& section, std::string_view key,
                              const Space& space);

template <typename T>
class ParameterReference {
 public:
  using Convert = std::function<T(const Value&)>;

  // `fallback` is the value of an absent key or of an inactive choice.
  ParameterReference(const SectionValue& value, const Space& space, Convert convert,
                     T fallback = {})
      : choice_(value.choice), convert_(std::move(convert)), fallback_(std::move(fallback)) {
    if (value.constant) fallback_ = convert_(*value.constant);
    if (!choice_) return;
    const Domain& domain = space.domains()[*choice_];
    if (domain.kind == DomainKind::kBool) by_code_ = {convert_(false), convert_(true)};
    for (const Value& option : domain.choices) by_code_.push_back(convert_(option));
  }

  T in(std::span<const double> codes) const {
    if (!choice_ || codes[*choice_] != codes[*choice_]) return fallback_;
    const double code = codes[*choice_];
    if (by_code_.empty()) return convert_(Value(static_cast<std::int64_t>(code)));
    return by_code_[static_cast<std::size_t>(code)];
  }

 private:
  std::optional<std::size_t> choice_;
  Convert convert_;
  std::vector<T> by_code_;  // empty for ranges of whole numbers
  T fallback_;
};

}  // namespace detol::inline encoding
