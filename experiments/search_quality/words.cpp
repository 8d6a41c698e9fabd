#include "experiments/search_quality/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <vector>

#include "core/rng.h"

namespace detol {

Named named(const std::string& words) {
  std::istringstream parts(words);
  Named algorithm;
  std::getline(parts, algorithm.name, ':');
  for (std::string option; std::getline(parts, option, ';');) {
    std::istringstream both(option);
    std::string name;
    std::getline(both, name, '=');
    std::getline(both, algorithm.options[name]);
  }
  return algorithm;
}

void print_values(const Space& space, double noise,
                  const std::function<double(const Genome&)>& value) {
  std::vector<double> codes(space.size());
  fmt::print("{} {}\n", codes.size(), noise);
  while (std::cin) {
    std::fflush(stdout);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      double share = 0;
      if (!(std::cin >> share)) return;
      codes[i] = space.domains()[i].code_at(std::min(share, std::nextafter(1.0, 0.0)));
    }
    Rng unused(0);
    fmt::print("{:.17g}\n", value(space.repair(codes, unused)));
  }
}

}  // namespace detol
