#include "encodings/study/function.h"

#include <fmt/format.h>

#include <array>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

using enum FieldKind;
using Words = std::string_view;

constexpr double kLongestSleepS = 1e6;
constexpr double kMostNoise = 1e6;
constexpr double kMostSeed = 0x1p62;

constexpr std::array kSleep = {
    Field{.key = "seconds", .kind = kNumber, .required = true, .low = 0, .high = kLongestSleepS}};

constexpr Field dimensions_from(int least) {
  return {.key = "dimensions", .kind = kInt, .low = static_cast<double>(least), .high = 1000};
}

constexpr std::array<Words, 3> kWarps = {"none", "log", "sqrt"};
constexpr Field kShift = {.key = "shift_seed", .kind = kInt, .low = 0, .high = kMostSeed};
constexpr Field kRotate = {.key = "rotate_seed", .kind = kInt, .low = 0, .high = kMostSeed};
constexpr Field kWarp = {.key = "warp", .kind = kWord, .words = kWarps};
constexpr Field kIrrelevant = {.key = "irrelevant", .kind = kInt, .low = 0, .high = 1000};

constexpr Field kNoise = {.key = "noise", .kind = kNumber, .low = 0, .high = kMostNoise};
constexpr Field kInstance = {.key = "instance", .kind = kInt, .low = 0, .high = kMostSeed};

constexpr std::array kOfFixedSize = {kShift, kRotate, kWarp, kIrrelevant, kNoise};
constexpr std::array kFromOne = {dimensions_from(1), kShift, kRotate, kWarp, kIrrelevant, kNoise};
constexpr std::array kFromTwo = {dimensions_from(2), kShift, kRotate, kWarp, kIrrelevant, kNoise};
constexpr std::array kNoiseAlone = {kNoise};
constexpr std::array kInstances = {kInstance, kNoise};
constexpr std::array kGallagher = {dimensions_from(2), kInstance, kNoise};
constexpr std::array kUnmoved = {dimensions_from(2), kNoise};
constexpr std::array kDtlz = {
    dimensions_from(3), Field{.key = "objectives", .kind = kInt, .low = 2, .high = 3}, kNoise};

// The same interval for every parameter.
struct Box {
  std::string_view name;
  double low, high;
  int dimensions;  // the default of `dimensions`
};

constexpr std::array kBoxes = {
    Box{"hartmann6", 0, 1, 6},
    Box{"levy", -10, 10, 2},
    Box{"ackley", -5, 10, 2},
    Box{"rosenbrock", -5, 10, 2},
    Box{"rastrigin", -5.12, 5.12, 2},
    Box{"sphere", -5, 5, 2},
    Box{"ellipsoid", -5, 5, 2},
    Box{"shekel", 0, 10, 4},
    Box{"gallagher", -5, 5, 2},
    Box{"boundary", 0, 1, 5},
    Box{"gardner", 0, 6, 2},
    Box{"hartmann6_constrained", 0, 1, 6},
    Box{"zdt1", 0, 1, 30},
    Box{"zdt2", 0, 1, 30},
    Box{"zdt3", 0, 1, 30},
};

SpaceBuilder& add_boxes(SpaceBuilder& builder, std::int64_t first, std::int64_t count, double low,
                        double high) {
  for (std::int64_t i = first; i < first + count; ++i)
    builder.add_float(fmt::format("x{}", i), low, high);
  return builder;
}

std::int64_t irrelevant(const FunctionConfig& config) {
  return config.whole("irrelevant").value_or(0);
}

Result<Space> box_space(const FunctionConfig& config) {
  const Box& box = *find_row<Box>(kBoxes, config.name);
  const std::int64_t count = config.whole("dimensions").value_or(box.dimensions);
  SpaceBuilder builder;
  add_boxes(builder, 0, count, box.low, box.high);
  return add_boxes(builder, count, irrelevant(config), 0, 1).build();
}

Result<Space> branin_space(const FunctionConfig& config) {
  SpaceBuilder builder;
  builder.add_float("x0", -5, 10).add_float("x1", 0, 15);
  return add_boxes(builder, 2, irrelevant(config), 0, 1).build();
}

Result<Space> dtlz_space(const FunctionConfig& config) {
  constexpr std::int64_t kDistances = 10;  // Deb et al.'s k
  const std::int64_t objectives = config.whole("objectives").value_or(3);
  SpaceBuilder builder;
  return add_boxes(builder, 0, config.whole("dimensions").value_or(objectives - 1 + kDistances), 0,
                   1)
      .build();
}

Result<Space> mixed_space(const FunctionConfig&) {
  return SpaceBuilder()
      .add_float("x0", -5, 5)
      .add_float("x1", 1e-5, 1, {.log = true})
      .add_int("x2", 1, 16)
      .add_categorical("x3", {"a", "b", "c", "d"})
      .build();
}

Result<Space> conditional_space(const FunctionConfig&) {
  return SpaceBuilder()
      .add_categorical("x0", {"a", "b", "c"})
      .add_float("x1", -5, 5, {.when = {"x0", {"a"}}})
      .add_float("x2", 1e-5, 1, {.log = true, .when = {"x0", {"a"}}})
      .add_int("x3", 1, 64, {.when = {"x0", {"b"}}})
      .add_bool("x4", {.when = {"x0", {"b"}}})
      .add_float("x5", 0, 1, {.when = {"x4", {true}}})
      .build();
}

Result<Space> branches_space(const FunctionConfig&) {
  SpaceBuilder builder;
  builder.add_categorical("kind", {"a", "b", "c", "d"});
  add_boxes(builder, 0, 2, 0, 1);
  for (const std::string kind : {"a", "b", "c", "d"}) {
    for (const char* number : {"0", "1"})
      builder.add_float(kind + number, 0, 1, {.when = {"kind", {kind}}});
  }
  return builder.build();
}

std::span<const Words> value_alone(const FunctionConfig&) {
  static constexpr std::array<Words, 1> kValue = {"value"};
  return kValue;
}

// The value, and what is to be at most 0.
std::span<const Words> constrained(const FunctionConfig& config) {
  static constexpr std::array<Words, 3> kValues = {"value", "c1", "c2"};
  return std::span(kValues).first(config.name == "gardner" ? 2 : 3);
}

std::span<const Words> several(const FunctionConfig& config) {
  static constexpr std::array<Words, 3> kValues = {"f1", "f2", "f3"};
  const bool is_dtlz = config.name == "dtlz2";
  const std::int64_t count = is_dtlz ? config.whole("objectives").value_or(3) : 2;
  return std::span(kValues).first(static_cast<std::size_t>(count));
}

constexpr std::array kFunctions = {
    FunctionRow{"sleep", "waits so many `seconds`; x0 in [0, 1] changes nothing, the value is 0",
                kSleep,
                [](const FunctionConfig&) { return SpaceBuilder().add_float("x0", 0, 1).build(); },
                value_alone},
    FunctionRow{"branin", "two parameters, three equal optima", kOfFixedSize, branin_space,
                value_alone},
    FunctionRow{"hartmann6", "six parameters, four wells", kOfFixedSize, box_space, value_alone},
    FunctionRow{"levy", "waves on a bowl", kFromOne, box_space, value_alone},
    FunctionRow{"ackley", "a hole in a plain of ripples", kFromOne, box_space, value_alone},
    FunctionRow{"rosenbrock", "a long bent valley", kFromTwo, box_space, value_alone},
    FunctionRow{"rastrigin", "a bowl with a regular grid of wells", kFromOne, box_space,
                value_alone},
    FunctionRow{"sphere", "the distance from the optimum, squared", kFromOne, box_space,
                value_alone},
    FunctionRow{"ellipsoid", "a bowl 100 times as long as narrow", kFromTwo, box_space,
                value_alone},
    FunctionRow{"shekel", "four parameters, ten narrow wells", kOfFixedSize, box_space,
                value_alone},
    FunctionRow{"gallagher", "21 peaks of random places and shapes", kGallagher, box_space,
                value_alone},
    FunctionRow{"mixed", "a float, a float by its logarithm, an int, a categorical", kNoiseAlone,
                mixed_space, value_alone},
    FunctionRow{"conditional", "parameters that exist under others", kNoiseAlone, conditional_space,
                value_alone},
    FunctionRow{"branches", "four kinds with parameters of their own, nearly equally good",
                kInstances, branches_space, value_alone},
    FunctionRow{"boundary", "a bowl whose best values lie beside trials that fail", kUnmoved,
                box_space, value_alone},
    FunctionRow{"gardner", "two parameters, and a constraint that 2 % of the box keep", kNoiseAlone,
                box_space, constrained},
    FunctionRow{"hartmann6_constrained", "hartmann6 with two constraints that its optimum breaks",
                kNoiseAlone, box_space, constrained},
    FunctionRow{"zdt1", "two objectives, a convex front", kUnmoved, box_space, several},
    FunctionRow{"zdt2", "two objectives, a concave front", kUnmoved, box_space, several},
    FunctionRow{"zdt3", "two objectives, a front in five pieces", kUnmoved, box_space, several},
    FunctionRow{"dtlz2", "two or three objectives, a front on the unit sphere", kDtlz, dtlz_space,
                several},
};

}  // namespace

double FunctionConfig::number(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() ? 0 : std::get<double>(found->second);
}

std::optional<std::int64_t> FunctionConfig::whole(std::string_view option) const {
  const auto found = options.find(option);
  if (found == options.end()) return std::nullopt;
  return std::get<std::int64_t>(found->second);
}

std::string FunctionConfig::text(std::string_view option, std::string_view otherwise) const {
  const auto found = options.find(option);
  return found == options.end() ? std::string(otherwise) : std::get<std::string>(found->second);
}

std::span<const FunctionRow> functions() {
  return kFunctions;
}

}  // namespace detol::inline encoding
