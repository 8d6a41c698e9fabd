// Benchmark functions of optimisation, and transformations of them.
//
// The base functions (base_functions.h) favour a searcher that is biased to the middle of the box,
// the axes or a moderate scale, so a study may move the optimum, rotate the axes about it and
// transform the scale:
//
//   value(x) = warp(base(o + Q (x - s)))     o: the base's optimum; Q: rotation; s: its new place
//
// s is uniform over the middle 80 % of the box, Q uniform over the orthogonal matrices (normal
// draws, made orthonormal row by row). The point s has the base's least value for any Q, and no
// point has a lower one: o is a global minimum of its base, over all of space. Price of a value:
// d^2 if rotated, else d.
//
// Several objectives: Zitzler, Deb, Thiele, Comparison of Multiobjective Evolutionary Algorithms,
// Evolutionary Computation 8(2), 2000; Deb, Thiele, Laumanns, Zitzler, Scalable Multi-Objective
// Optimization Test Problems, CEC 2002.

#include "trainer/formulas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <string>

#include "core/hash.h"
#include "core/rng.h"
#include "core/table.h"
#include "trainer/base_functions.h"

namespace detol::inline trainer {
namespace {

using std::numbers::pi;
using Point = std::vector<double>;
using Points = std::span<const double>;

double dot(Points a, Points b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Returns a random orthogonal matrix, by rows (modified Gram-Schmidt). Almost surely no row
// vanishes.
std::vector<Point> rotation(std::size_t d, Rng rng) {
  std::vector<Point> rows;
  while (rows.size() < d) {
    Point row(d);
    for (double& entry : row) entry = rng.normal();
    for (const Point& other : rows) {
      const double along = dot(row, other);
      for (std::size_t i = 0; i < d; ++i) row[i] -= along * other[i];
    }
    const double length = std::sqrt(dot(row, row));
    for (double& entry : row) entry /= length;
    rows.push_back(std::move(row));
  }
  return rows;
}

double log_of(double above) {
  return std::log1p(above);
}
double root_of(double above) {
  return std::sqrt(above);
}

// Warp: a transformation of the height above the least value.
struct Warp {
  std::string_view name;
  double (*warp)(double above);  // null: none
};
constexpr Warp kWarps[] = {{"none", nullptr}, {"log", log_of}, {"sqrt", root_of}};

// TransformedFunction: a base function with the transformations of a study.
class TransformedFunction {
 public:
  TransformedFunction(const BaseFunction& base, const FunctionConfig& config, const Space& space)
      : base_(base) {
    const auto irrelevant = static_cast<std::size_t>(config.whole("irrelevant").value_or(0));
    const auto domains = space.domains().first(space.size() - irrelevant);
    from_ = to_ = base.minimiser(domains.size());
    if (const auto seed = config.whole("shift_seed")) {
      Rng rng = Rng(static_cast<std::uint64_t>(*seed)).split(hash64("function shift"));
      for (std::size_t i = 0; i < to_.size(); ++i)
        to_[i] = domains[i].low + (domains[i].high - domains[i].low) * rng.uniform(0.1, 0.9);
    }
    if (const auto seed = config.whole("rotate_seed"))
      rows_ = rotation(to_.size(),
                       Rng(static_cast<std::uint64_t>(*seed)).split(hash64("function rotation")));
    warp_ = known_row<Warp>(kWarps, config.text("warp", "none")).warp;
  }

  double value(Points x) const {
    const double value = base_.value(to_base_coordinates(x.first(to_.size())));
    return warp_ == nullptr ? value : warp_(std::max(0.0, value - base_.least));
  }

  double optimum() const { return warp_ == nullptr ? base_.least : 0; }

 private:
  // Returns o + Q (x - s).
  Point to_base_coordinates(Points x) const {
    Point offset(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i) offset[i] -= to_[i];
    Point at = from_;
    for (std::size_t i = 0; i < x.size(); ++i)
      at[i] += rows_.empty() ? offset[i] : dot(rows_[i], offset);
    return at;
  }

  const BaseFunction& base_;
  Point from_, to_;          // the base's optimum, and the study's
  std::vector<Point> rows_;  // of the rotation; empty if not rotated
  double (*warp_)(double above) = nullptr;
};

BenchmarkFunction make_transformed(const FunctionConfig& config) {
  const Space space = find_row(functions(), config.name)->space(config).value();
  const auto function = std::make_shared<const TransformedFunction>(
      *find_row(base_functions(), config.name), config, space);
  return {
      .values = [function](const Genome& genome) { return Point{function->value(genome.codes())}; },
      .optimum = function->optimum()};
}

double mixed(const Genome& x) {
  struct Well {
    std::string_view name;
    double centre, height;
  };
  constexpr std::array kWells = {Well{"a", -2, 0.5}, Well{"b", 0, 0.2}, Well{"c", 1, 0},
                                 Well{"d", 3, 1}};
  const Well& well = *find_row<Well>(kWells, x.text("x3"));
  return well.height + square(x.number("x0") - well.centre) / 10 +
         square(std::log10(x.number("x1")) + 3) / 4 + square((x.number("x2") - 5) / 4);
}

double conditional(const Genome& x) {
  const std::string branch = x.text("x0");
  if (branch == "a")
    return 0.2 + square(x.number("x1") - 2) / 10 + square(std::log10(x.number("x2")) + 2) / 4;
  if (branch == "c") return 1;
  const double rest = x.flag("x4") ? 4 * square(x.number("x5") - 0.7) : 0.3;
  return square((x.number("x3") - 24) / 16) + rest;
}

Rng instance_of(const FunctionConfig& config) {
  const std::int64_t instance = config.whole("instance").value_or(0);
  return Rng(static_cast<std::uint64_t>(instance)).split(hash64(config.name));
}

// Every kind is a bowl over two shared parameters and two of its own.
BenchmarkFunction make_branches(const FunctionConfig& config) {
  struct Bowl {
    double height;
    std::array<double, 4> centre;
  };
  std::vector<Bowl> bowls = {{0, {}}, {0.02, {}}, {0.05, {}}, {0.1, {}}};
  Rng rng = instance_of(config);
  rng.shuffle(std::span(bowls));
  for (Bowl& bowl : bowls) {
    for (double& one : bowl.centre) one = rng.uniform(0.1, 0.9);
  }
  return {.values =
              [bowls](const Genome& x) {
                const std::string kind = x.text("kind");
                const Bowl& bowl = bowls[static_cast<std::size_t>(kind.front() - 'a')];
                const std::array<std::string, 4> names = {"x0", "x1", kind + "0", kind + "1"};
                double value = bowl.height;
                for (std::size_t i = 0; i < names.size(); ++i)
                  value += square(x.number(names[i]) - bowl.centre[i]);
                return Point{value};
              },
          .optimum = 0};
}

// A peak of a gallagher function; `centre` and `steepness` are of the turned axes.
struct Peak {
  double height = 0;
  Point centre, steepness;
};

// Returns peak `i` of 21. The first is the highest and has the most unequal axes.
Peak peak_of(std::size_t i, double order, const std::vector<Point>& axes, Rng rng) {
  const std::size_t d = axes.size();
  const double condition = std::pow(1000.0, i == 0 ? 2 : 2 * order / 19);
  Peak peak;
  peak.height = i == 0 ? 10 : 1.1 + 8 * static_cast<double>(i - 1) / 19;
  Point centre(d);
  for (double& one : centre) one = (i == 0 ? 0.8 : 1) * rng.uniform(-4.9, 4.9);
  for (std::size_t j = 0; j < d; ++j) {
    const double exponent = static_cast<double>(j) / static_cast<double>(d - 1) / 2;
    peak.centre.push_back(dot(axes[j], centre));
    peak.steepness.push_back(std::pow(condition, exponent - 0.25));
  }
  rng.shuffle(std::span(peak.steepness));
  return peak;
}

// The square of the depth below the top of the highest peak there: f22 of BBOB without its
// oscillation and its penalty outside of the box (Hansen, Finck, Ros, Auger, 2009, INRIA RR-6829).
BenchmarkFunction make_gallagher(const FunctionConfig& config) {
  const std::size_t d = find_row(functions(), config.name)->space(config).value().size();
  const Rng rng = instance_of(config);
  const std::vector<Point> axes = rotation(d, rng.split(hash64("rotation")));
  Point orders(20);
  std::iota(orders.begin(), orders.end(), 0.0);
  Rng(rng).shuffle(std::span(orders));
  std::vector<Peak> peaks;
  for (std::size_t i = 0; i <= orders.size(); ++i)
    peaks.push_back(peak_of(i, i == 0 ? 0 : orders[i - 1], axes, rng.split(i)));
  const auto value = [axes, peaks](const Genome& genome) {
    Point x;
    for (const Point& axis : axes) x.push_back(dot(axis, genome.codes()));
    double highest = 0;
    for (const Peak& peak : peaks) {
      double distance = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        distance += peak.steepness[i] * square(x[i] - peak.centre[i]);
      const double there = std::exp(-distance / (2 * static_cast<double>(x.size())));
      highest = std::max(highest, peak.height * there);
    }
    return Point{square(10 - highest)};
  };
  return {.values = value, .optimum = 0};
}

// A bowl about 1, 1, ... with weights from 1 to 2, in which trials fail where the numbers exceed
// .55 on average. On that plane each is 1 - m / weight for one m.
BenchmarkFunction make_boundary(const FunctionConfig& config) {
  const auto count = config.whole("dimensions").value_or(5);
  double inverses = 0;  // of the weights
  for (std::int64_t i = 0; i < count; ++i)
    inverses += 1 / (1 + static_cast<double>(i) / static_cast<double>(count - 1));
  const auto values = [](const Genome& genome) {
    const auto x = genome.codes();
    const double last = static_cast<double>(x.size() - 1);
    double sum = 0, value = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += x[i];
      value += (1 + static_cast<double>(i) / last) * square(x[i] - 1);
    }
    const bool fails = sum > 0.55 * static_cast<double>(x.size());
    return Point{fails ? std::numeric_limits<double>::quiet_NaN() : value};
  };
  return {.values = values, .optimum = square(0.45 * static_cast<double>(count)) / inverses};
}

// The value and the constraint of a simulation of Gardner et al. (2014, "Bayesian Optimization with
// Inequality Constraints", ICML).
BenchmarkFunction make_gardner(const FunctionConfig&) {
  const auto values = [](const Genome& genome) {
    const double x = genome.codes()[0], y = genome.codes()[1];
    return Point{std::sin(x) + y, std::sin(x) * std::sin(y) + 0.95};
  };
  return {.values = values, .optimum = std::asin(0.95) - 1};
}

BenchmarkFunction make_hartmann6_constrained(const FunctionConfig&) {
  const BaseFunction& base = *find_row(base_functions(), "hartmann6");
  const auto values = [&base](const Genome& genome) {
    const auto x = genome.codes();
    return Point{base.value(x), square(x[1]) + square(x[5]) - 0.3, 0.8 - x[0] - x[3]};
  };
  return {.values = values, .optimum = -2.2901445};
}

// Returns both objectives of a ZDT function; the three differ in `shape(f1 / g, f1)`.
Point zdt(Points x, double (*shape)(double ratio, double f1)) {
  const double rest = std::accumulate(x.begin() + 1, x.end(), 0.0);
  const double g = 1 + 9 * rest / static_cast<double>(x.size() - 1);
  return {x[0], g * shape(x[0] / g, x[0])};
}

double convex(double ratio, double) {
  return 1 - std::sqrt(ratio);
}
double concave(double ratio, double) {
  return 1 - ratio * ratio;
}
double in_pieces(double ratio, double f1) {
  return 1 - std::sqrt(ratio) - ratio * std::sin(10 * pi * f1);
}

// The first parameters are angles, the others give the distance from the unit sphere.
Point dtlz2(Points x, std::size_t objectives) {
  double distance = 1;
  for (const double one : x.subspan(objectives - 1)) distance += square(one - 0.5);
  Point values(objectives, distance);
  for (std::size_t m = 0; m < objectives; ++m) {
    for (std::size_t i = 0; i + m + 1 < objectives; ++i) values[m] *= std::cos(x[i] * pi / 2);
    if (m > 0) values[m] *= std::sin(x[objectives - 1 - m] * pi / 2);
  }
  return values;
}

BenchmarkFunction of(double (*value)(const Genome& x)) {
  return {.values = [value](const Genome& genome) { return Point{value(genome)}; }, .optimum = 0};
}

BenchmarkFunction of_zdt(double (*shape)(double ratio, double f1)) {
  return {.values = [shape](const Genome& genome) { return zdt(genome.codes(), shape); }};
}

constexpr std::array kFormulas = {
    Formula{"sleep",
            [](const FunctionConfig& config) {
              return BenchmarkFunction{.values = [](const Genome&) { return Point{0.0}; },
                                       .optimum = 0,
                                       .seconds = config.number("seconds")};
            }},
    Formula{"branin", make_transformed},
    Formula{"hartmann6", make_transformed},
    Formula{"levy", make_transformed},
    Formula{"ackley", make_transformed},
    Formula{"rosenbrock", make_transformed},
    Formula{"rastrigin", make_transformed},
    Formula{"sphere", make_transformed},
    Formula{"ellipsoid", make_transformed},
    Formula{"shekel", make_transformed},
    Formula{"gallagher", make_gallagher},
    Formula{"mixed", [](const FunctionConfig&) { return of(mixed); }},
    Formula{"conditional", [](const FunctionConfig&) { return of(conditional); }},
    Formula{"branches", make_branches},
    Formula{"boundary", make_boundary},
    Formula{"gardner", make_gardner},
    Formula{"hartmann6_constrained", make_hartmann6_constrained},
    Formula{"zdt1", [](const FunctionConfig&) { return of_zdt(convex); }},
    Formula{"zdt2", [](const FunctionConfig&) { return of_zdt(concave); }},
    Formula{"zdt3", [](const FunctionConfig&) { return of_zdt(in_pieces); }},
    Formula{"dtlz2",
            [](const FunctionConfig& config) {
              const auto objectives =
                  static_cast<std::size_t>(config.whole("objectives").value_or(3));
              return BenchmarkFunction{.values = [objectives](const Genome& genome) {
                return dtlz2(genome.codes(), objectives);
              }};
            }},
};

}  // namespace

std::span<const Formula> formulas() {
  return kFormulas;
}

}  // namespace detol::inline trainer
