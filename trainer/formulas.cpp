// Benchmark functions of optimisation, and transformations of them.
//
// The base functions have their usual form and optimum (Surjanovic and Bingham, Virtual Library of
// Simulation Experiments, 2013). They favour a searcher that is biased to the middle of the box,
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

namespace detol::inline trainer {
namespace {

using std::numbers::pi;
using Point = std::vector<double>;
using Points = std::span<const double>;

double square(double x) {
  return x * x;
}

double branin(Points x) {
  constexpr double kB = 5.1 / (4 * pi * pi), kC = 5 / pi, kT = 1 / (8 * pi);
  return square(x[1] - kB * x[0] * x[0] + kC * x[0] - 6) + 10 * (1 - kT) * std::cos(x[0]) + 10;
}

double hartmann6(Points x) {
  constexpr std::array<double, 4> kDepth = {1.0, 1.2, 3.0, 3.2};
  constexpr double kSteepness[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                       {0.05, 10, 17, 0.1, 8, 14},
                                       {3, 3.5, 1.7, 10, 17, 8},
                                       {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kCentre[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                    {2329, 4135, 8307, 3736, 1004, 9991},
                                    {2348, 1451, 3522, 2883, 3047, 6650},
                                    {4047, 8828, 8732, 5743, 1091, 381}};
  double sum = 0;
  for (std::size_t well = 0; well < 4; ++well) {
    double distance = 0;
    for (std::size_t i = 0; i < 6; ++i)
      distance += kSteepness[well][i] * square(x[i] - 1e-4 * kCentre[well][i]);
    sum += kDepth[well] * std::exp(-distance);
  }
  return -sum;
}

double levy(Points x) {
  const auto w = [&](std::size_t i) { return 1 + (x[i] - 1) / 4; };
  const std::size_t last = x.size() - 1;
  double sum = square(std::sin(pi * w(0)));
  for (std::size_t i = 0; i < last; ++i)
    sum += square(w(i) - 1) * (1 + 10 * square(std::sin(pi * w(i) + 1)));
  return sum + square(w(last) - 1) * (1 + square(std::sin(2 * pi * w(last))));
}

double ackley(Points x) {
  double squares = 0, waves = 0;
  for (const double one : x) {
    squares += one * one;
    waves += std::cos(2 * pi * one);
  }
  const auto d = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / d)) - std::exp(waves / d) + 20 + std::numbers::e;
}

double rosenbrock(Points x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    sum += 100 * square(x[i + 1] - x[i] * x[i]) + square(1 - x[i]);
  return sum;
}

double rastrigin(Points x) {
  double sum = 0;
  for (const double one : x) sum += 10 + one * one - 10 * std::cos(2 * pi * one);
  return sum;
}

Point all(std::size_t d, double value) {
  return Point(d, value);
}

// Base: a base function, a point where its value is least, and that value.
struct Base {
  std::string_view name;
  double (*value)(Points x);
  Point (*minimiser)(std::size_t d);
  double least;
};

constexpr std::array kBases = {
    Base{"branin", branin,
         [](std::size_t) {
           return Point{pi, 2.275};
         },
         5 / (4 * pi)},
    Base{"hartmann6", hartmann6,
         [](std::size_t) {
           return Point{0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054};
         },
         -3.32236801141551},
    Base{"levy", levy, [](std::size_t d) { return all(d, 1); }, 0},
    Base{"ackley", ackley, [](std::size_t d) { return all(d, 0); }, 0},
    Base{"rosenbrock", rosenbrock, [](std::size_t d) { return all(d, 1); }, 0},
    Base{"rastrigin", rastrigin, [](std::size_t d) { return all(d, 0); }, 0},
};

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
  TransformedFunction(const Base& base, const FunctionConfig& config, const Space& space)
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

  const Base& base_;
  Point from_, to_;          // the base's optimum, and the study's
  std::vector<Point> rows_;  // of the rotation; empty if not rotated
  double (*warp_)(double above) = nullptr;
};

BenchmarkFunction make_transformed(const FunctionConfig& config) {
  const Space space = find_row(functions(), config.name)->space(config).value();
  const auto function = std::make_shared<const TransformedFunction>(
      *find_row<Base>(kBases, config.name), config, space);
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
    Formula{"mixed", [](const FunctionConfig&) { return of(mixed); }},
    Formula{"conditional", [](const FunctionConfig&) { return of(conditional); }},
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
