#pragma once

// Function: candidates that are scored by a formula of their parameters instead of by training:
// for tests and experiments. The table lists the options of each in a space file (`function: {name:
// levy, dimensions: 5}`), which parameters it implies and which metrics it reports; the values are
// computed in trainer/formulas.cpp.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "encodings/schema/schema.h"
#include "encodings/space/space.h"

namespace detol::inline encoding {

// A function with the settings that were given.
struct FunctionConfig {
  std::string name;
  std::map<std::string, Value, std::less<>> options;

  double number(std::string_view option) const;  // 0 if it was not given; REQUIRES: a number
  std::optional<std::int64_t> whole(std::string_view option) const;  // REQUIRES: an int, if given
  std::string text(std::string_view option, std::string_view otherwise) const;
};

struct FunctionRow {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> options;  // beside `name`
  Result<Space> (*space)(const FunctionConfig& config);
  // Returns the metrics reported after its one epoch; all are minimised by default.
  std::span<const std::string_view> (*metrics)(const FunctionConfig& config);
};

// Returns every function.
std::span<const FunctionRow> functions();

}  // namespace detol::inline encoding
