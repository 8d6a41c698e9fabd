#pragma once

// Functions of numbers with their least value, 0, at the origin: those of BBOB (Hansen, Finck, Ros
// and Auger, 2009) and of the Virtual Library of Simulation Experiments (Surjanovic and Bingham,
// 2013), up to scale.

#include <span>
#include <string_view>

namespace detol {

struct TestFunction {
  std::string_view name;
  double width;  // of the space, along each axis, in units of `z`
  bool turned;   // its axes are not those of the space
  double (*function)(std::span<const double> z);
};

std::span<const TestFunction> functions_of_numbers();

double dot(std::span<const double> a, std::span<const double> b);  // of equal size

}  // namespace detol
