#include "encodings/study/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/schema/yaml_value.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

// Returns the node one step down a path, as "stages[0]": a member, or an item of its list.
const json* step_into(const json* node, std::string_view step) {
  const std::size_t bracket = step.find('[');
  const std::string key(step.substr(0, bracket));
  if (!node->is_object() || !node->contains(key)) return nullptr;
  node = &(*node)[key];
  if (bracket == std::string_view::npos) return node;
  std::size_t index = 0;
  const std::string_view digits = step.substr(bracket + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool closes = error == std::errc() && end + 1 == digits.data() + digits.size();
  if (!closes || !node->is_array() || index >= node->size()) return nullptr;
  return &(*node)[index];
}

// Returns the fixed scalar at a path of the file, or nullptr.
const json* constant_at(const json& file, std::string_view path) {
  const json* node = &file;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = step_into(node, path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return node != nullptr && node->is_primitive() ? node : nullptr;
}

bool equals(const json& constant, const YamlNode& scalar) {
  if (constant.is_string()) return scalar.scalar == constant.get<std::string>();
  const Value value = plain_value(scalar);
  if (constant.is_boolean()) return value == Value(constant.get<bool>());
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return constant == *whole;
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && constant == *real;
}

// Referred is the choice or the constant that the name in a `when` refers to.
struct Referred {
  const FoundDomain* choice = nullptr;
  const json* constant = nullptr;
};

class Resolver {
 public:
  Resolver(const std::vector<FoundDomain>& found, const json& file, const YamlSource& source)
      : found_(found), file_(file), source_(source), settled_(found.size()) {}

  Result<Space> build(Implied implied) {
    std::vector<const FoundDomain*> kept;
    SpaceBuilder builder;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      DETOL_ASSIGN(const bool exists, settle(i));
      if (!exists) continue;
      builder.add(resolved_[i]);
      kept.push_back(&found_[i]);
    }
    if (implied.rules != nullptr)
      builder.add(std::move(implied.choices), std::move(implied.rules));
    else
      for (Domain& choice : implied.choices) builder.add(std::move(choice));
    Result<Space> space = builder.build();
    if (!space)
      return source_.error(position_of(kept, space.error().subject), space.error().message);
    return space;
  }

 private:
  enum class State { kUnknown, kBusy, kExists, kNever };

  static Position position_of(const std::vector<const FoundDomain*>& kept, std::string_view name) {
    const auto same = [&](const FoundDomain* one) { return one->domain.name == name; };
    const auto found = std::ranges::find_if(kept, same);
    return found == kept.end() ? Position{} : (*found)->at;
  }

  Referred look_up(const FoundDomain& from, const std::string& name) const {
    std::string scope = from.scope;
    for (;;) {
      const std::string full = scope.empty() ? name : fmt::format("{}.{}", scope, name);
      const auto same = [&](const FoundDomain& f) { return f.domain.name == full; };
      const auto choice = std::ranges::find_if(found_, same);
      if (choice != found_.end()) return {&*choice, nullptr};
      const std::string path = scope.empty() ? "parameters." + name : full;
      if (const json* constant = constant_at(file_, path)) return {nullptr, constant};
      if (scope.empty()) return {nullptr, constant_at(file_, name)};
      const auto dot = scope.rfind('.');
      scope = dot == std::string::npos ? "" : scope.substr(0, dot);
    }
  }

  // Returns the names that a `when` of this choice most likely means: its siblings' and the
  // parameters'.
  std::vector<std::string_view> near(const FoundDomain& from) const {
    std::vector<std::string_view> names;
    for (const FoundDomain& other : found_) {
      std::string_view name = other.domain.name;
      if (&other == &from || (other.scope != from.scope && !other.scope.empty())) continue;
      if (!other.scope.empty()) name.remove_prefix(other.scope.size() + 1);
      names.push_back(name);
    }
    return names;
  }

  // Resolves the `when` of a choice. Returns true if the choice can exist at all.
  Result<bool> settle(std::size_t index) {
    resolved_.resize(found_.size());
    const FoundDomain& found = found_[index];
    if (settled_[index] == State::kBusy)
      return source_.error(found.at, found.domain.name + ": when: the conditions form a circle");
    if (settled_[index] != State::kUnknown) return settled_[index] == State::kExists;
    settled_[index] = State::kBusy;
    resolved_[index] = found.domain;
    bool exists = true;
    if (found.when != nullptr) {
      DETOL_ASSIGN(exists, condition(found, resolved_[index]));
    }
    settled_[index] = exists ? State::kExists : State::kNever;
    return exists;
  }

  // True if the choice's `when` can hold. REQUIRES: it has one.
  Result<bool> condition(const FoundDomain& found, Domain& domain) {
    const YamlNode& when = found.when->value;
    if (when.kind != YamlNode::Kind::kMap || when.entries.size() != 1) {
      return source_.error(when.at,
                           domain.name + ".when must be {name: value} or {name: [values]}");
    }
    const YamlEntry& entry = when.entries.front();
    const bool is_list = entry.value.kind == YamlNode::Kind::kList;
    const std::vector<YamlNode> one = {is_list ? YamlNode{} : entry.value};
    const std::vector<YamlNode>& values = is_list ? entry.value.items : one;
    if (values.empty())
      return source_.error(entry.value.at, domain.name + ".when needs at least one value");
    for (const YamlNode& value : values) {
      if (value.kind != YamlNode::Kind::kScalar)
        return source_.error(value.at, domain.name + ".when needs a value or a list of values");
    }
    const Referred parent = look_up(found, entry.key);
    if (parent.constant != nullptr) {
      return std::ranges::any_of(values,
                                 [&](const auto& v) { return equals(*parent.constant, v); });
    }
    if (parent.choice == nullptr) {
      const std::vector<std::string_view> known = near(found);
      return source_.error(entry.at,
                           domain.name + ".when: " + unknown_name("parameter", entry.key, known));
    }
    return on_choice(*parent.choice, values, domain);
  }

  Result<bool> on_choice(const FoundDomain& parent, const std::vector<YamlNode>& values,
                         Domain& domain) {
    domain.when = When{parent.domain.name, {}};
    for (const YamlNode& value : values) {
      const auto code = code_of(parent.domain, value);
      if (!code) {
        return source_.error(value.at,
                             fmt::format("{}.when: {} cannot be '{}'; it accepts {}", domain.name,
                                         parent.domain.name, value.scalar.substr(0, 80),
                                         accepted_values(parent.domain)));
      }
      domain.when->values.push_back(parent.domain.value_of(*code));
    }
    return settle(static_cast<std::size_t>(&parent - found_.data()));
  }

  const std::vector<FoundDomain>& found_;
  const json& file_;
  const YamlSource& source_;
  std::vector<State> settled_;
  std::vector<Domain> resolved_;
};

}  // namespace

Result<Space> build_space(const std::vector<FoundDomain>& found, const json& file, Implied implied,
                          const YamlSource& source) {
  return Resolver(found, file, source).build(std::move(implied));
}

}  // namespace detol::inline encoding
