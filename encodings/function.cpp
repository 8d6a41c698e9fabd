#include "encodings/function.h"

#include <array>

namespace detol {
namespace {

using enum FieldKind;

constexpr double kLongestSleepS = 1e6;

constexpr std::array kSleep = {
    Field{.key = "seconds", .kind = kNumber, .required = true, .low = 0, .high = kLongestSleepS}};

constexpr std::array kFunctions = {
    FunctionRow{"sleep", "waits so many `seconds`; x0 in [0, 1] changes nothing, the value is 0",
                kSleep,
                [](const FunctionConfig&) { return SpaceBuilder().add_float("x0", 0, 1).build(); }},
};

}  // namespace

double FunctionConfig::number(std::string_view option) const {
  return std::get<double>(options.find(option)->second);
}

std::span<const FunctionRow> functions() {
  return kFunctions;
}

}  // namespace detol
