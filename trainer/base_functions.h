#pragma once

// Base functions: classic test functions of optimisation in their usual form (Surjanovic and
// Bingham, Virtual Library of Simulation Experiments, 2013), which formulas.cpp transforms.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace detol::inline trainer {

struct BaseFunction {
  std::string_view name;  // of its row in functions()
  double (*value)(std::span<const double> x);
  std::vector<double> (*minimiser)(std::size_t dimensions);  // a point where the value is least
  double least;                                              // the value there
};

std::span<const BaseFunction> base_functions();

inline double square(double x) {
  return x * x;
}

}  // namespace detol::inline trainer
