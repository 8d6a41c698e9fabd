#pragma once

// Function: candidates that are scored by a formula of their parameters instead of by training:
// for tests and experiments. Here is what a space file may say of each (`function: {name: sleep,
// seconds: 1}`) and which parameters it implies; the values are computed in trainer/function.cpp.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "encodings/schema.h"
#include "encodings/space.h"

namespace detol {

// A function with its settings, each given or a default.
struct FunctionConfig {
  std::string name;
  std::map<std::string, Value, std::less<>> options;

  double number(std::string_view option) const;  // REQUIRES: its row has that option, a number
};

struct FunctionRow {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> options;  // beside `name`; every one required
  Result<Space> (*space)(const FunctionConfig& config);
};

// Every function detol knows.
std::span<const FunctionRow> functions();

}  // namespace detol
