#include "encodings/schema/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline encoding {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

// Returns the message for a byte that is not UTF-8, with the line that has it. What is no file was
// written on the command line, and may be a path.
std::string not_utf8(std::string_view text, std::size_t at, bool is_file) {
  const std::size_t begin = text.rfind('\n', at) + 1;  // 0 if there is none
  std::string_view line = text.substr(begin, text.find('\n', at) - begin);
  line.remove_prefix(std::min(line.find_first_not_of(" -"), line.size()));
  if (!is_file && line.size() > 1 && line.front() == '\'') line = line.substr(1, line.size() - 2);
  return fmt::format("not UTF-8: {}; {}", in_quotes(line),
                     is_file ? "save the file as UTF-8" : "rename it, or choose another");
}

Result<void> check_bytes(std::string_view text, const YamlSource& source, int override_index) {
  Position at{1, 1, override_index};
  if (text.size() > kMaxYamlBytes) {
    return source.error(
        at, fmt::format("the file has {} bytes; at most {} are read", text.size(), kMaxYamlBytes));
  }
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0)
      return source.error(at, not_utf8(text, i, override_index < 0 && !source.name.empty()));
    if (is_control(c) && c != '\n' && c != '\r' && c != '\t') {
      return source.error(at, "a control character; remove it");
    }
    i += length;
    ++at.column;
    if (c == '\n') at = {at.line + 1, 1, override_index};
  }
  return {};
}

constexpr std::size_t kMostKeys = 1000;  // in one map, as find() is linear

// Thrown and caught inside this file only: yaml-cpp's event handlers cannot return errors.
struct Mistake {
  Position at;
  std::string message;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(int override_index) : override_index_(override_index) {}

  std::optional<YamlNode> take() { return std::exchange(root_, std::nullopt); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) throw Mistake{position(mark), "a second document; one file holds one study"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(YamlNode::of(YamlNode::Kind::kNull, position(mark)), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    YamlNode node = YamlNode::of(YamlNode::Kind::kScalar, position(mark));
    node.scalar = value;
    node.quoted = tag == "!";
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) throw Mistake{position(mark), "an alias inside its own anchor"};
    YamlNode copy = known->second;
    count(copy, open_.size(), mark);
    place(std::move(copy));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(YamlNode::Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(YamlNode::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // of a map: the key whose value is not read yet
    YAML::anchor_t anchor = 0;
  };

  Position position(const YAML::Mark& mark) const {
    return {mark.line + 1, mark.column + 1, override_index_};
  }

  // Accepts plain ("?"), quoted ("!") and untagged values; any other tag changes a value's type.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Mistake{position(mark), fmt::format("the tag {} is not supported", tag)};
  }

  void begin(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    check_depth(open_.size() + 1, mark);
    open_.push_back({YamlNode::of(kind, position(mark)), std::nullopt, anchor});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.node), done.anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    count_one(node.at);
    if (anchor != 0) {
      count(node, 0, {});
      anchors_[anchor] = node;
    }
    place(std::move(node));
  }

  void place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      check_key(parent.node, node);
      parent.key = std::move(node);
    } else {
      // yaml-cpp gives an empty value the position of the next token.
      if (node.kind == YamlNode::Kind::kNull) node.at = parent.key->at;
      parent.node.entries.push_back({parent.key->scalar, parent.key->at, std::move(node)});
      parent.key.reset();
    }
  }

  static void check_key(const YamlNode& map, const YamlNode& key) {
    if (key.kind != YamlNode::Kind::kScalar) throw Mistake{key.at, "a key must be a word"};
    if (map.entries.size() == kMostKeys)
      throw Mistake{key.at, fmt::format("more than {} keys in one map", kMostKeys)};
    if (const YamlEntry* first = map.find(key.scalar)) {
      throw Mistake{key.at, fmt::format("duplicate key '{}'; the first is in line {}", key.scalar,
                                        first->at.line)};
    }
  }

  static Mistake too_deep(const Position& at) {
    return {at, fmt::format("nested deeper than {} levels", kMaxYamlDepth)};
  }
  void check_depth(std::size_t depth, const YAML::Mark& mark) const {
    if (depth > kMaxYamlDepth) throw too_deep(position(mark));
  }

  void count_one(const Position& at) {
    if (++nodes_ > kMaxYamlNodes)
      throw Mistake{at, fmt::format("more than {} values, aliases counted", kMaxYamlNodes)};
  }

  // Counts a copied subtree, so that aliases of aliases cannot grow without bound.
  void count(const YamlNode& node, std::size_t depth, const YAML::Mark& mark) {
    count_one(node.at);
    check_depth(depth, mark);
    for (const YamlNode& item : node.items) count(item, depth + 1, mark);
    for (const YamlEntry& entry : node.entries) count(entry.value, depth + 1, mark);
  }

  int override_index_;
  std::optional<YamlNode> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
};

std::string_view line_of(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

void emit(const YamlNode& node, YAML::Emitter& out) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      out << YAML::Null;
      return;
    case YamlNode::Kind::kScalar:
      if (node.quoted) out << YAML::DoubleQuoted;
      out << node.scalar;
      return;
    case YamlNode::Kind::kList:
      if (node.items.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const YamlNode& item : node.items) emit(item, out);
      out << YAML::EndSeq;
      return;
    case YamlNode::Kind::kMap:
      if (node.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const YamlEntry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(entry.value, out);
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

YamlNode YamlNode::of(Kind kind, const Position& at) {
  YamlNode node;
  node.kind = kind;
  node.at = at;
  return node;
}

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

YamlEntry* YamlNode::find(std::string_view key) {
  return const_cast<YamlEntry*>(std::as_const(*this).find(key));
}

const YamlNode* node_at(const YamlNode& tree, std::initializer_list<std::string_view> path) {
  const YamlNode* node = &tree;
  for (std::string_view key : path) {
    const YamlEntry* entry = node->find(key);
    if (entry == nullptr) return nullptr;
    node = &entry->value;
  }
  return node;
}

Place YamlSource::at(const Position& position) const {
  if (position.override_index >= 0) {
    const std::string& path = override_paths[static_cast<std::size_t>(position.override_index)];
    return {.text = "--set " + path, .override_path = path};
  }
  return {.text = fmt::format("{}:{}:{}", name, position.line, position.column)};
}

tl::unexpected<Error> YamlSource::error(const Position& position, std::string_view message) const {
  Place place = at(position);
  auto error = fail(position.override_index < 0 ? ErrorCode::kInput : ErrorCode::kUsage,
                    printable(fmt::format("{}: {}", place.text, message)));
  error.value().subject = std::move(place.override_path);
  return error;
}

Result<YamlNode> parse_yaml(std::string_view text, const YamlSource& source, int override_index) {
  DETOL_TRY(check_bytes(text, source, override_index));
  TreeBuilder builder(override_index);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) continue;
  } catch (const Mistake& mistake) {
    return source.error(mistake.at, mistake.message);
  } catch (const YAML::Exception& error) {
    const Position at{std::max(error.mark.line, 0) + 1, std::max(error.mark.column, 0) + 1,
                      override_index};
    const std::string_view line = line_of(text, at.line);
    const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
    if (tab != std::string_view::npos)
      return source.error({at.line, static_cast<int>(tab) + 1, override_index},
                          "a tab; YAML is indented by blanks alone");
    return source.error(at, "not YAML: " + error.msg);
  }
  return builder.take().value_or(YamlNode::of(YamlNode::Kind::kNull, {1, 1, override_index}));
}

std::string write_yaml(const YamlNode& node) {
  YAML::Emitter out;
  emit(node, out);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace detol::inline encoding
