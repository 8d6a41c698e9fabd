#pragma once

// Distribution: how a word of another program draws a number. Private to this folder.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "encodings/foreign/foreign_space.h"
#include "encodings/schema/yaml_tree.h"

namespace detol::inline encoding {

// Ends: what the two numbers of a distribution are.
enum class Ends {
  kValues,            // the range
  kExponents,         // the range is exp(first) to exp(second)
  kNegatedExponents,  // the range is exp(-second) to exp(-first)
  kNormal,            // a mean and a standard deviation, of the logarithm where `log`
};

struct Distribution {
  std::string_view name;
  Ends ends = Ends::kValues;
  bool log = false;
  bool whole = false;          // whole numbers only
  bool excludes_high = false;  // of whole numbers
  bool rounds = false;         // to multiples of the third number
  bool clips = false;          // after rounding, to the range
};

struct DistributionNumbers {
  double first = 0, second = 0;
  double step = 0;  // of rounding; without it of a grid from the first number; 0: none
};

// Returns the parameter with these values; a normal distribution becomes three standard deviations
// around the mean. Whole multiples of a whole step are an int. Errors (kInput) have no place.
Result<ForeignParameter> parameter_of(const Distribution& distribution, std::string name,
                                      const DistributionNumbers& numbers);

// Returns a parameter that is one of these values. null becomes the text None, a list its text.
// Errors (kInput), without a place: a map among them.
Result<ForeignParameter> choice_of(std::string name, std::span<const YamlNode> values);

// Returns the first key of a map that is not known, as an error: `place: unknown key 'gaol'; did
// you mean 'goal'?` A key that is left out in silence could change what the others mean.
Result<void> has_known_keys(const YamlNode& map, std::string_view place,
                            std::span<const std::string_view> known);

// Returns the text of a key; empty if it is not there. Errors (kInput), without a place: it is a
// list or a map.
Result<std::string> text_at(const YamlNode& map, std::string_view key);

// Returns the number of a scalar, also of one in quotes, as only a number can stand there; nullopt
// if it is none.
std::optional<double> number_of(const YamlNode& scalar);

// Returns the number of a key of a map, `otherwise` if there is no such key. Errors (kInput),
// without a place: it is no number.
Result<double> number_at(const YamlNode& map, std::string_view key,
                         std::optional<double> otherwise);

}  // namespace detol::inline encoding
