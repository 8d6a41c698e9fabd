#include "trainer/base_functions.h"

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace detol::inline trainer {
namespace {

using std::numbers::pi;
using Point = std::vector<double>;
using Points = std::span<const double>;

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

double sphere(Points x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

// Condition number 10,000.
double ellipsoid(Points x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += std::pow(1e4, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * square(x[i]);
  return sum;
}

// Dixon and Szego, 1978, with ten wells.
double shekel(Points x) {
  constexpr double kCentre[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1},    {8, 8, 8, 8}, {6, 6, 6, 6},
                                     {3, 7, 3, 7}, {2, 9, 2, 9},    {5, 5, 3, 3}, {8, 1, 8, 1},
                                     {6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
  constexpr double kWidth[10] = {0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
  double sum = 0;
  for (std::size_t well = 0; well < 10; ++well) {
    double distance = kWidth[well];
    for (std::size_t i = 0; i < 4; ++i) distance += square(x[i] - kCentre[well][i]);
    sum += 1 / distance;
  }
  return -sum;
}

Point all(std::size_t d, double value) {
  return Point(d, value);
}

constexpr std::array kBaseFunctions = {
    BaseFunction{"branin", branin,
                 [](std::size_t) {
                   return Point{pi, 2.275};
                 },
                 5 / (4 * pi)},
    BaseFunction{"hartmann6", hartmann6,
                 [](std::size_t) {
                   return Point{0.20168952, 0.15001069, 0.47687398,
                                0.27533243, 0.31165162, 0.65730054};
                 },
                 -3.32236801141551},
    BaseFunction{"levy", levy, [](std::size_t d) { return all(d, 1); }, 0},
    BaseFunction{"ackley", ackley, [](std::size_t d) { return all(d, 0); }, 0},
    BaseFunction{"rosenbrock", rosenbrock, [](std::size_t d) { return all(d, 1); }, 0},
    BaseFunction{"rastrigin", rastrigin, [](std::size_t d) { return all(d, 0); }, 0},
    BaseFunction{"sphere", sphere, [](std::size_t d) { return all(d, 0); }, 0},
    BaseFunction{"ellipsoid", ellipsoid, [](std::size_t d) { return all(d, 0); }, 0},
    BaseFunction{"shekel", shekel,
                 [](std::size_t) {
                   return Point{4.00074653159, 4.00059293414, 3.99966339804, 3.99950980059};
                 },
                 -10.53640981669204},
};

}  // namespace

std::span<const BaseFunction> base_functions() {
  return kBaseFunctions;
}

}  // namespace detol::inline trainer
