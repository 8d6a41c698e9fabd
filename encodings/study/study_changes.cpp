#include "encodings/study/study_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "encodings/schema/yaml_tree.h"
#include "encodings/study/study_config.h"

namespace detol::inline encoding {
namespace {

constexpr std::string_view kBegun = "the study", kNow = "the space file";
constexpr std::size_t kMostListed = 3;

bool is_plain_list(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kList &&
         std::ranges::all_of(
             node.items, [](const YamlNode& item) { return item.kind == YamlNode::Kind::kScalar; });
}

// Adds the values below a node by their keys; a list of scalars is one value.
void flatten(const YamlNode& node, const std::string& key, std::map<std::string, std::string>& to) {
  if (is_plain_list(node)) {
    std::string text;
    for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + item.scalar;
    to[key] = "[" + text + "]";
    return;
  }
  if (node.kind == YamlNode::Kind::kScalar || node.kind == YamlNode::Kind::kNull)
    to[key] = node.kind == YamlNode::Kind::kNull ? "null" : node.scalar;
  for (std::size_t i = 0; i < node.items.size(); ++i)
    flatten(node.items[i], fmt::format("{}[{}]", key, i), to);
  for (const YamlEntry& entry : node.entries)
    flatten(entry.value, key.empty() ? entry.key : key + "." + entry.key, to);
}

Result<std::map<std::string, std::string>> keys_of(std::string_view text, std::string_view name) {
  DETOL_ASSIGN(const YamlNode tree, parse_yaml(text, YamlSource{std::string(name), {}}));
  std::map<std::string, std::string> keys;
  flatten(tree, "", keys);
  std::erase_if(keys, [](const auto& item) {
    return item.first == "budget" || item.first.starts_with("resources");
  });
  return keys;
}

std::optional<double> number_from(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || next != end) return std::nullopt;
  return number;
}

// Returns whether the value of a key is the word that a program gets, not only a number: 3.10 is
// another version than 3.1.
bool is_word_of_program(const std::string& key) {
  return key.starts_with("parameters.") && key.find('.', key.find('.') + 1) == std::string::npos;
}

bool is_same_value(const std::string& key, const std::string& a, const std::string& b) {
  const auto one = number_from(a), other = number_from(b);
  return a == b || (one && one == other && !is_word_of_program(key));
}

// Returns all values that differ, in the order of their keys.
std::vector<KeyChange> differences(const std::map<std::string, std::string>& before,
                                   const std::map<std::string, std::string>& now) {
  std::vector<KeyChange> changes;
  for (const auto& [key, value] : before) {
    const auto found = now.find(key);
    const std::string other = found == now.end() ? "" : found->second;
    if (!is_same_value(key, value, other)) changes.push_back({key, value, other});
  }
  for (const auto& [key, value] : now)
    if (!before.contains(key)) changes.push_back({key, "", value});
  return changes;
}

bool is_range_or_choices(const std::string& key) {
  if (!key.starts_with("parameters.")) return false;
  return key.ends_with(".low") || key.ends_with(".high") || key.ends_with(".choices");
}

bool is_whole_number_of_steps(double distance, double step) {
  const double steps = distance / step;
  return std::abs(steps - std::round(steps)) < 1e-9;
}

// Returns why values of `before` are missing in `now`; empty: none is.
std::string what_is_lost(const Domain& before, const Domain& now) {
  for (const Value& choice : before.choices) {
    if (std::ranges::find(now.choices, choice) == now.choices.end())
      return fmt::format("{} had the choice {}, which is missing now", before.name,
                         to_text(choice));
  }
  if (now.low > before.low || now.high < before.high)
    return fmt::format("{} had the range {}, now {}", before.name, accepted_values(before),
                       accepted_values(now));
  if (before.step > 0 && !is_whole_number_of_steps(before.low - now.low, before.step))
    return fmt::format("the grid of {} has other points", before.name);
  return {};
}

tl::unexpected<Error> refused(const std::string& why) {
  return fail(ErrorCode::kInput,
              fmt::format("the space file is not the one this study was begun with: {}; only "
                          "budget and resources may change, ranges of parameters may grow, and "
                          "their choices become more; begin a new study, under another name or "
                          "with --if-exists new",
                          why));
}

}  // namespace

std::string to_text(const KeyChange& change) {
  const auto shown = [](const std::string& value) { return value.empty() ? "nothing" : value; };
  return fmt::format("{}: {} -> {}", change.key, shown(change.before), shown(change.now));
}

Result<std::vector<KeyChange>> changes_of_study(std::string_view begun_with, std::string_view now) {
  DETOL_ASSIGN(const auto keys_before, keys_of(begun_with, kBegun));
  DETOL_ASSIGN(const auto keys_now, keys_of(now, kNow));
  std::vector<KeyChange> changes = differences(keys_before, keys_now);
  std::string others;
  std::size_t listed = 0;
  for (const KeyChange& change : changes) {
    if (is_range_or_choices(change.key) && !change.before.empty() && !change.now.empty()) continue;
    if (++listed <= kMostListed) others += (others.empty() ? "" : ", ") + to_text(change);
  }
  if (listed > kMostListed) others += fmt::format(", and {} more", listed - kMostListed);
  if (listed > 0) return refused(others);
  if (changes.empty()) return changes;
  DETOL_ASSIGN(const StudyConfig before, load_study_config(begun_with, kBegun));
  DETOL_ASSIGN(const StudyConfig after, load_study_config(now, kNow));
  for (const Domain& domain : before.space.domains()) {
    const auto index = after.space.index_of(domain.name);
    const std::string why = index ? what_is_lost(domain, after.space.domains()[*index])
                                  : domain.name + " is missing now";
    if (!why.empty()) return refused(why);
  }
  return changes;
}

}  // namespace detol::inline encoding
