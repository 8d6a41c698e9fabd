#include "encodings/study/overrides.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace detol::inline encoding {
namespace {

// Step: one part of a path between dots: "stages[0]".
struct Step {
  std::string key;
  std::optional<std::size_t> index;
};

std::optional<Step> parse_step(std::string_view text) {
  const std::size_t bracket = text.find('[');
  Step step{std::string(text.substr(0, bracket)), std::nullopt};
  if (step.key.empty()) return std::nullopt;
  if (bracket == std::string_view::npos) return step;
  const std::string_view rest = text.substr(bracket + 1);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  if (error != std::errc() || rest.substr(static_cast<std::size_t>(end - rest.data())) != "]")
    return std::nullopt;
  step.index = index;
  return step;
}

Result<std::vector<Step>> steps_of(std::string_view path, const Position& at,
                                   const YamlSource& source) {
  std::vector<Step> steps;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const auto step = parse_step(path.substr(from, dot - from));
    if (!step || steps.size() == kMaxYamlDepth)
      return source.error(at, "not a path such as training.epochs or architecture.stages[0].depth");
    steps.push_back(*step);
    from = dot + 1;
  }
  return steps;
}

// Makes the node a map if it is none: an absent node becomes empty, a word {name: word}.
Result<void> make_map(YamlNode& node, const Position& at, const YamlSource& source) {
  if (node.kind == YamlNode::Kind::kMap) return {};
  if (node.kind == YamlNode::Kind::kList)
    return source.error(at, "a list is in the way; name one of its items, as stages[0]");
  YamlNode map = YamlNode::of(YamlNode::Kind::kMap, at);
  if (node.kind == YamlNode::Kind::kScalar) {
    const Position word_at = node.at;
    map.entries.push_back({"name", word_at, std::move(node)});
  }
  node = std::move(map);
  return {};
}

// Returns the child that a step leads to, made if it is absent.
Result<YamlNode*> descend(YamlNode& node, const Step& step, const Position& at,
                          const YamlSource& source) {
  DETOL_TRY(make_map(node, at, source));
  YamlEntry* entry = node.find(step.key);
  if (entry == nullptr) {
    node.entries.push_back({step.key, at, YamlNode::of(YamlNode::Kind::kNull, at)});
    entry = &node.entries.back();
  }
  if (!step.index) return &entry->value;
  std::vector<YamlNode>& items = entry->value.items;
  if (*step.index >= items.size())
    return source.error(
        at, fmt::format("no such item; {} has {}, counted from 0", step.key, items.size()));
  return &items[*step.index];
}

// Returns the value. A separator alone is that character, whatever it begins in YAML.
Result<YamlNode> value_of(const std::string& text, const Position& at, const YamlSource& source) {
  constexpr std::string_view kSeparators = ",|\t :;#&*@%!?>`^-";
  if (text.size() != 1 || kSeparators.find(text.front()) == std::string_view::npos)
    return parse_yaml(text, source, at.override_index);
  YamlNode character = YamlNode::of(YamlNode::Kind::kScalar, at);
  character.scalar = text;
  character.quoted = true;
  return character;
}

}  // namespace

Result<void> apply_overrides(YamlNode& tree, const std::vector<Override>& overrides,
                             const YamlSource& source) {
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const Position at{1, 1, static_cast<int>(i)};
    DETOL_ASSIGN(const std::vector<Step> steps, steps_of(overrides[i].path, at, source));
    DETOL_ASSIGN(YamlNode value, value_of(overrides[i].value, at, source));
    YamlNode* node = &tree;
    for (const Step& step : steps) {
      DETOL_ASSIGN(node, descend(*node, step, at, source));
    }
    *node = std::move(value);
  }
  return {};
}

}  // namespace detol::inline encoding
