#pragma once

// Chosen: what a value of the architecture's section means for its graph, where the value may be a
// choice ({"$": name}): found by the choice's code, without text. Immutable. Private to encodings/.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/space/space.h"

namespace detol {

// A value as a section has it.
struct Setting {
  std::optional<Value> written;       // none: it is a choice, or not there
  std::optional<std::size_t> choice;  // the position of its domain
};

Setting setting_of(const nlohmann::json& value, const Space& space);
Setting setting_at(const nlohmann::json& section, std::string_view key, const Space& space);

template <typename T>
class Chosen {
 public:
  using Meaning = std::function<T(const Value&)>;

  // `otherwise`: where the value is not there, or a choice that is inactive.
  Chosen(const Setting& setting, const Space& space, Meaning meaning, T otherwise = {})
      : choice_(setting.choice), meaning_(std::move(meaning)), otherwise_(std::move(otherwise)) {
    if (setting.written) otherwise_ = meaning_(*setting.written);
    if (!choice_) return;
    const Domain& domain = space.domains()[*choice_];
    if (domain.kind == DomainKind::kBool) by_code_ = {meaning_(false), meaning_(true)};
    for (const Value& value : domain.choices) by_code_.push_back(meaning_(value));
  }

  T in(std::span<const double> codes) const {
    if (!choice_ || codes[*choice_] != codes[*choice_]) return otherwise_;
    const double code = codes[*choice_];
    if (by_code_.empty()) return meaning_(Value(static_cast<std::int64_t>(code)));
    return by_code_[static_cast<std::size_t>(code)];
  }

 private:
  std::optional<std::size_t> choice_;
  Meaning meaning_;
  std::vector<T> by_code_;  // empty for ranges of whole numbers
  T otherwise_;
};

}  // namespace detol
