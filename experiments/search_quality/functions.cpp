#include "experiments/search_quality/functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/table.h"
#include "trainer/base_functions.h"

namespace detol {
namespace {

using std::numbers::pi;
using Points = std::span<const double>;

double count(Points z) {
  return static_cast<double>(z.size());
}

// Returns 0 for the first dimension to 1 for the last.
double share(std::size_t i, Points z) {
  return z.size() < 2 ? 0 : static_cast<double>(i) / (count(z) - 1);
}

// Returns the function at `origin` + z, where origin is its minimiser along each axis.
double from_minimiser(std::string_view name, double origin, Points z) {
  std::vector<double> x(z.begin(), z.end());
  for (double& one : x) one += origin;
  return known_row(base_functions(), name).value(x);
}

double sphere(Points z) {
  return 5 * dot(z, z) / count(z);
}

double levy(Points z) {
  return from_minimiser("levy", 1, z);
}

double rosenbrock(Points z) {
  return from_minimiser("rosenbrock", 1, z);
}

double ackley(Points z) {
  return from_minimiser("ackley", 0, z);
}

double rastrigin(Points z) {
  return from_minimiser("rastrigin", 0, z);
}

double weighted_squares(Points z, double last_weight) {
  double sum = 0;
  for (std::size_t i = 0; i < z.size(); ++i)
    sum += std::pow(last_weight, share(i, z)) * square(z[i]);
  return sum;
}

double decaying_sphere(Points z) {
  return weighted_squares(z, 1e-4);
}

double ellipsoid(Points z) {
  return weighted_squares(z, 1e3);
}

double griewank(Points z) {
  double waves = 1;
  for (std::size_t i = 0; i < z.size(); ++i)
    waves *= std::cos(z[i] / std::sqrt(static_cast<double>(i + 1)));
  return 10 * (dot(z, z) / 4000 + 1 - waves);
}

double sharp_ridge(Points z) {
  return square(z[0]) + 100 * std::sqrt(dot(z.subspan(1), z.subspan(1)));
}

double different_powers(Points z) {
  double sum = 0;
  for (std::size_t i = 0; i < z.size(); ++i) sum += std::pow(std::abs(z[i]), 2 + 4 * share(i, z));
  return std::sqrt(sum);
}

double zakharov(Points z) {
  double weighted = 0;
  for (std::size_t i = 0; i < z.size(); ++i) weighted += 0.5 * static_cast<double>(i + 1) * z[i];
  return dot(z, z) + square(weighted) + square(square(weighted));
}

double schaffer(Points z) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < z.size(); ++i) {
    const double distance = std::hypot(z[i], z[i + 1]);
    sum += std::sqrt(distance) * (1 + square(std::sin(50 * std::pow(distance, 0.2))));
  }
  return square(sum / (count(z) - 1));
}

double weierstrass(Points z) {
  double sum = 0;
  for (double one : z) {
    for (int k = 0; k < 12; ++k)
      sum += std::pow(0.5, k) * (1 - std::cos(2 * pi * std::pow(3, k) * one));
  }
  return 10 * square(sum / count(z));
}

double katsuura(Points z) {
  double product = 1;
  for (std::size_t i = 0; i < z.size(); ++i) {
    double sum = 0;
    for (int j = 1; j <= 32; ++j) {
      const double scaled = std::ldexp(z[i], j);
      sum += std::ldexp(std::abs(scaled - std::round(scaled)), -j);
    }
    product *= std::pow(1 + static_cast<double>(i + 1) * sum, 10 / std::pow(count(z), 1.2));
  }
  return 10 / square(count(z)) * (product - 1);
}

double drop_wave(Points z) {
  const double squares = dot(z, z);
  return 1 - (1 + std::cos(12 * std::sqrt(squares))) / (0.5 * squares + 2);
}

// Two funnels with waves; the worse one is the wider.
double lunacek(Points z) {
  const double shape = 1 - 1 / (2 * std::sqrt(count(z) + 20) - 8.2), centre = 2.5;
  const double other = -std::sqrt((square(centre) - 1) / shape);
  double near = 0, far = count(z), waves = 0;
  for (double one : z) {
    near += square(one);
    far += shape * square(one + centre - other);
    waves += 10 * (1 - std::cos(2 * pi * one));
  }
  return std::min(near, far) + waves;
}

constexpr std::array kFunctions = {
    TestFunction{"sphere", 10, false, sphere},
    TestFunction{"decaying", 10, false, decaying_sphere},
    TestFunction{"ellipsoid", 10, true, ellipsoid},
    TestFunction{"levy", 20, false, levy},
    TestFunction{"levy-turned", 20, true, levy},
    TestFunction{"ackley", 65.536, false, ackley},
    TestFunction{"rosenbrock", 15, false, rosenbrock},
    TestFunction{"rosenbrock-turned", 8, true, rosenbrock},
    TestFunction{"rastrigin", 10.24, false, rastrigin},
    TestFunction{"rastrigin-turned", 10.24, true, rastrigin},
    TestFunction{"griewank", 40, false, griewank},
    TestFunction{"ridge", 10, true, sharp_ridge},
    TestFunction{"powers", 10, true, different_powers},
    TestFunction{"zakharov", 15, false, zakharov},
    TestFunction{"schaffer", 20, true, schaffer},
    TestFunction{"weierstrass", 1, false, weierstrass},
    TestFunction{"katsuura", 5, true, katsuura},
    TestFunction{"dropwave", 10.24, false, drop_wave},
    TestFunction{"lunacek", 10, false, lunacek},
};

}  // namespace

std::span<const TestFunction> functions_of_numbers() {
  return kFunctions;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace detol
