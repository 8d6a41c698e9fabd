#pragma once

// YamlNode: a YAML document as a plain tree with the position of every node. Private to encodings/.
// No other file uses yaml-cpp, and parse_yaml refuses what a hostile file may contain: duplicate
// keys, deep nesting, alias bombs, bytes that are not UTF-8.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/schema/schema.h"

namespace detol::inline encoding {

// Position: line and column count from 1. A node from `--set` has the override's index instead.
struct Position {
  int line = 1;
  int column = 1;
  int override_index = -1;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Position at;
  std::string scalar;
  bool quoted = false;  // a quoted scalar is text, never a number or a bool
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in the file's order, keys unique

  static YamlNode of(Kind kind, const Position& at);  // an empty node

  const YamlEntry* find(std::string_view key) const;
  YamlEntry* find(std::string_view key);
};

struct YamlEntry {
  std::string key;
  Position at;  // of the key
  YamlNode value;
};

// Returns the node at a path of plain keys, or nullptr.
const YamlNode* node_at(const YamlNode& tree, std::initializer_list<std::string_view> path);

// YamlSource names the place of an error: the file's name, or the path of an override.
struct YamlSource {
  std::string name;
  std::vector<std::string> override_paths;

  Place at(const Position& position) const;

  // Returns kInput for a place in the file; kUsage with the path as subject for an override. The
  // message is one printable line.
  tl::unexpected<Error> error(const Position& position, std::string_view message) const;
};

constexpr std::size_t kMaxYamlBytes = 1 << 20;
constexpr std::size_t kMaxYamlDepth = 64;
constexpr std::size_t kMaxYamlNodes = 100'000;  // aliases expanded

// Reads one document. `override_index` marks all of its nodes as that override's.
Result<YamlNode> parse_yaml(std::string_view text, const YamlSource& source,
                            int override_index = -1);

// Writes block style without comments and aliases; parse_yaml reads the same tree from it.
std::string write_yaml(const YamlNode& node);

}  // namespace detol::inline encoding
