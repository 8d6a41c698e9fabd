#include "experiments/search_quality/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>

#include "core/rng.h"
#include "core/table.h"
#include "experiments/search_quality/functions.h"
#include "trainer/base_functions.h"

namespace detol {
namespace {

using std::numbers::pi;
using Point = std::vector<double>;
using Points = std::span<const double>;

constexpr std::size_t kImportant = 5;  // dimensions of a "few-" function that matter

Point random_point(std::size_t dimensions, Rng& rng) {
  Point point(dimensions);
  for (double& one : point) one = rng.uniform(0.15, 0.85);
  return point;
}

// Returns orthonormal axes (Gram and Schmidt).
std::vector<Point> random_axes(std::size_t dimensions, Rng& rng) {
  std::vector<Point> axes(dimensions, Point(dimensions));
  for (std::size_t i = 0; i < dimensions; ++i) {
    for (double& one : axes[i]) one = rng.normal();
    for (std::size_t j = 0; j < i; ++j) {
      const double along = dot(axes[i], axes[j]);
      for (std::size_t k = 0; k < dimensions; ++k) axes[i][k] -= along * axes[j][k];
    }
    const double norm = std::sqrt(dot(axes[i], axes[i]));
    for (double& one : axes[i]) one /= norm;
  }
  return axes;
}

Problem on_cube(std::size_t dimensions, std::function<double(Points)> function) {
  SpaceBuilder builder;
  for (std::size_t i = 0; i < dimensions; ++i) builder.add_float(fmt::format("x{}", i), 0, 1);
  return {builder.build().value(), [function = std::move(function)](const Genome& genome) {
            return function(genome.codes());
          }};
}

Problem shifted(const TestFunction& row, std::size_t dimensions, Rng rng) {
  const Point optimum = random_point(dimensions, rng);
  const std::vector<Point> axes = row.turned ? random_axes(dimensions, rng) : std::vector<Point>();
  return on_cube(dimensions, [=](Points x) {
    Point from(dimensions), turned;
    for (std::size_t i = 0; i < dimensions; ++i) from[i] = row.width * (x[i] - optimum[i]);
    for (const Point& axis : axes) turned.push_back(dot(from, axis));
    return row.function(axes.empty() ? from : turned);
  });
}

// 21 normal peaks of random places and widths along random axes, the highest of height 10, the
// others of 1.5 to 9.1 (Gallagher's functions of BBOB: Hansen, Finck, Ros and Auger, 2009).
Problem peaks(std::size_t dimensions, Rng rng) {
  constexpr int kPeaks = 21;
  struct Peak {
    Point centre, steepness;
    double height;
  };
  const std::vector<Point> axes = random_axes(dimensions, rng);
  std::vector<Peak> all;
  for (int i = 0; i < kPeaks; ++i) {
    Peak peak{.centre = random_point(dimensions, rng),
              .steepness = {},
              .height = i == 0 ? 10 : 1.1 + 8.0 * i / (kPeaks - 1)};
    const double condition = std::pow(1000, rng.uniform());
    for (std::size_t k = 0; k < dimensions; ++k)
      peak.steepness.push_back(100 * std::pow(condition, 0.5 * (rng.uniform() - 0.5)));
    all.push_back(std::move(peak));
  }
  return on_cube(dimensions, [=](Points x) {
    double highest = 0;
    for (const Peak& peak : all) {
      Point from(dimensions);
      for (std::size_t k = 0; k < dimensions; ++k) from[k] = x[k] - peak.centre[k];
      double distance = 0;
      for (std::size_t k = 0; k < dimensions; ++k)
        distance += peak.steepness[k] * square(dot(from, axes[k]));
      const double share = std::exp(-0.5 * distance / static_cast<double>(dimensions));
      highest = std::max(highest, peak.height * share);
    }
    return 10 - highest;
  });
}

// The function in five of the dimensions; the others do nothing.
Problem of_few(const TestFunction& row, std::size_t dimensions, Rng rng) {
  std::vector<std::size_t> order(dimensions);
  std::iota(order.begin(), order.end(), std::size_t{0});
  rng.shuffle(std::span<std::size_t>(order));
  const Point optimum = random_point(kImportant, rng);
  return on_cube(dimensions, [=](Points x) {
    Point from(kImportant);
    for (std::size_t i = 0; i < kImportant; ++i) from[i] = row.width * (x[order[i]] - optimum[i]);
    return row.function(from);
  });
}

double base_function(std::string_view name, Points x) {
  return known_row(base_functions(), name).value(x);
}

Problem branin(Rng) {
  return on_cube(2, [](Points x) {
    return base_function("branin", std::array{15 * x[0] - 5, 15 * x[1]}) - 0.397887357729739;
  });
}

Problem hartmann6(Rng) {
  return on_cube(6, [](Points x) { return base_function("hartmann6", x) + 3.32236801141551; });
}

// Four kinds that share two parameters and have two or three of their own. The best of each kind is
// 0, .02, .05 and .1. With `waves` each parameter of a kind has so many optima.
Problem branches(double waves, Rng rng) {
  static constexpr std::array kKinds = {"a", "b", "c", "d"};
  const auto own = [](std::size_t kind) { return 2 + kind % 2; };
  const auto name = [](std::size_t kind, std::size_t i) {
    return fmt::format("{}{}", kKinds[kind], i);
  };
  std::array<double, kKinds.size()> levels = {0, 0.02, 0.05, 0.1};
  rng.shuffle(std::span<double>(levels));
  SpaceBuilder builder;
  builder.add_categorical("kind", {kKinds.begin(), kKinds.end()});
  builder.add_float("lr", 1e-5, 1, {.log = true}).add_float("decay", 0, 1);
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
    for (std::size_t i = 0; i < own(kind); ++i)
      builder.add_float(name(kind, i), 0, 1, {.when = {"kind", {kKinds[kind]}}});
  const Point shared = random_point(2, rng);
  std::vector<Point> best;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) best.push_back(random_point(3, rng));
  return {builder.build().value(), [=](const Genome& genome) {
            const auto kind = static_cast<std::size_t>(genome.codes()[0]);
            double sum = levels[kind] + square(std::log10(genome.codes()[1]) / 5 + 1 - shared[0]) +
                         square(genome.codes()[2] - shared[1]);
            for (std::size_t i = 0; i < own(kind); ++i) {
              const double from = genome.number(name(kind, i)) - best[kind][i];
              sum += square(from) + 0.02 * (1 - std::cos(2 * pi * waves * from));
            }
            return sum;
          }};
}

// The choice of a model and its training: conditions below conditions, integers, categories.
Problem nested(Rng rng) {
  SpaceBuilder builder;
  builder.add_categorical("model", {"mlp", "cnn", "tree"});
  builder.add_int("layers", 1, 6, {.when = {"model", {"mlp", "cnn"}}});
  builder.add_int("width", 8, 512, {.log = true, .when = {"model", {"mlp", "cnn"}}});
  builder.add_categorical("kernel", {"3", "5", "7"}, {.ordered = true, .when = {"model", {"cnn"}}});
  builder.add_int("depth", 2, 20, {.when = {"model", {"tree"}}});
  builder.add_float("share", 0.1, 1, {.when = {"model", {"tree"}}});
  builder.add_float("lr", 1e-4, 1, {.log = true});
  builder.add_categorical("optimizer", {"sgd", "adam"}, {.when = {"model", {"mlp", "cnn"}}});
  builder.add_float("momentum", 0, 0.99, {.when = {"optimizer", {"sgd"}}});
  std::array<double, 3> levels = {0, 0.015, 0.04};
  rng.shuffle(std::span<double>(levels));
  const Point at = random_point(10, rng);
  const auto network = [=](const Genome& genome, std::size_t model, double lr) {
    const bool is_sgd = genome.text("optimizer") == "sgd";
    const auto log64 = [](double width) { return std::log(width / 8) / std::log(64.0); };
    double sum = square(lr - at[3 + model] - (is_sgd ? 0.1 : -0.1));
    sum += 0.6 * square((genome.number("layers") - std::round(1 + 5 * at[5 + model])) / 5);
    sum += 0.5 * square(log64(genome.number("width")) - log64(std::round(8 * std::pow(64, at[7]))));
    if (model == 1) sum += 0.02 * std::abs(genome.codes()[3] - std::floor(3 * at[8]));
    return sum + (is_sgd ? 0.3 * square(genome.number("momentum") - 0.99 * at[9]) : 0.005);
  };
  return {builder.build().value(), [=](const Genome& genome) {
            const auto model = static_cast<std::size_t>(genome.codes()[0]);
            const double lr = std::log10(genome.number("lr")) / 4 + 1;
            if (model < 2) return levels[model] + network(genome, model, lr);
            return levels[model] +
                   0.5 * square((genome.number("depth") - std::round(2 + 18 * at[0])) / 18) +
                   square(genome.number("share") - 0.1 - 0.9 * at[1]) + 0.7 * square(lr - at[2]);
          }};
}

// Numbers, integers and categories that act together, without conditions.
Problem mixed(Rng rng) {
  constexpr std::size_t kNorms = 3, kActivations = 4;
  SpaceBuilder builder;
  builder.add_float("lr", 1e-5, 1, {.log = true}).add_float("drop", 0, 0.9);
  builder.add_int("layers", 1, 8).add_int("width", 1, 256, {.log = true}).add_bool("skip");
  builder.add_categorical("norm", {"none", "batch", "layer"});
  builder.add_categorical("activation", {"relu", "gelu", "tanh", "silu"});
  const Point at = random_point(5, rng);
  std::array<double, kNorms * kActivations> together{};
  for (double& one : together) one = 0.1 * std::abs(rng.normal());
  together[rng.below(together.size())] = 0;
  const bool skips = rng.chance(0.5);
  return {builder.build().value(), [=](const Genome& genome) {
            const double layers = genome.number("layers"), drop = genome.number("drop");
            const double lr = std::log10(genome.number("lr")) / 5 + 1;
            double sum = square(lr - at[0] - 0.025 * (layers - 4) * (at[3] - 0.5));
            sum += 0.3 * square(drop - 0.9 * at[4]);
            sum += 0.5 * square((layers - std::round(1 + 7 * at[1])) / 7);
            const double width = genome.number("width") / std::round(std::pow(256, at[2]));
            sum += 0.5 * square(std::log(width) / std::log(256.0));
            sum += genome.flag("skip") == skips ? 0 : 0.03 + 0.1 * square(drop - at[3]);
            const double norm = genome.codes()[5], activation = genome.codes()[6];
            return sum + together[static_cast<std::size_t>(norm * kActivations + activation)];
          }};
}

struct ProblemRow {
  std::string_view name;
  Problem (*make)(Rng rng);
};

constexpr std::array kProblems = {
    ProblemRow{"branin", branin},
    ProblemRow{"hartmann6", hartmann6},
    ProblemRow{"mixed", mixed},
    ProblemRow{"nested", nested},
    ProblemRow{"branches", [](Rng rng) { return branches(0, rng); }},
    ProblemRow{"branches-wavy", [](Rng rng) { return branches(2.5, rng); }},
};

// Makes the problem of a function of numbers; nullopt if there is no such function.
std::optional<Problem> of_numbers(std::string_view kind, std::size_t dimensions, const Rng& rng) {
  if (kind == "peaks") return peaks(dimensions, rng);
  const bool is_few = kind.starts_with("few-") && dimensions >= kImportant;
  const TestFunction* const row = find_row(functions_of_numbers(), is_few ? kind.substr(4) : kind);
  if (row == nullptr) return std::nullopt;
  return is_few ? of_few(*row, dimensions, rng) : shifted(*row, dimensions, rng);
}

std::string known_names() {
  std::vector<std::string> names;
  for (const ProblemRow& row : kProblems) names.emplace_back(row.name);
  for (const TestFunction& row : functions_of_numbers())
    names.push_back(fmt::format("{}5", row.name));
  return fmt::format("{}, peaks5", fmt::join(names, ", "));
}

}  // namespace

Result<Problem> make_problem(const std::string& name, std::uint64_t seed) {
  const Rng rng = Rng(seed).split(7);
  if (const ProblemRow* const row = find_row(std::span<const ProblemRow>(kProblems), name))
    return row->make(rng);
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::size_t dimensions = 0;
  std::from_chars(name.data() + digits, name.data() + name.size(), dimensions);
  if (dimensions > 0) {
    if (auto problem = of_numbers(std::string_view(name).substr(0, digits), dimensions, rng))
      return *std::move(problem);
  }
  return fail(ErrorCode::kUsage,
              fmt::format("no problem \"{}\"; there are {}, with other numbers of dimensions too",
                          name, known_names()));
}

}  // namespace detol
