#pragma once

// Field: what one key of a space file may hold. Tables of fields are constants; the space
// file is checked against them before anything is built, so that every mistake has its
// line and column, the accepted values and a did-you-mean.

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace detol::inline encoding {

enum class FieldKind {
  kInt,          // whole number in [low, high], or one of `words`
  kNumber,       // number in [low, high]
  kBool,         // true, false
  kWord,         // one of `words`; any text if there are none
  kSize,         // bytes: 400MB, 2GiB or a number
  kDuration,     // 2h, 90s, 2d12h
  kSection,      // a map with the keys of `children`
  kList,         // a list of maps with the keys of `children`; `repeat: n` in an item: n copies
  kWords,        // a list of different `words`, at least one
  kTextOrTexts,  // a text, or a list of different texts; read as a list in both cases
  kInts,         // a list of different whole numbers in [low, high], at least one
  kNamed,        // a word, or {name: word, ...} with the keys of `children`; without children any
                 // scalars, which the reader of the option checks
  kTexts,        // a map of any names to texts, at least one
  kChoices,      // a map of any names, each a single value or a {type: ...} choice
  kAny,          // any single value
  kFree,         // any YAML, which its reader checks
};

struct Field {
  std::string_view key;
  FieldKind kind = FieldKind::kWord;
  bool required = false;
  bool may_be_domain = false;  // a {type: ..., low: ...} map may stand for the value
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool odd = false;  // kInt: odd numbers only
  std::span<const std::string_view> words = {};
  std::span<const Field> children = {};
};

// Place: where a value was written, for messages.
struct Place {
  std::string text;                // "space.yaml:3:7", "--set training.epochs"
  std::string override_path = {};  // "training.epochs"; empty for a place in the file
};

}  // namespace detol::inline encoding
