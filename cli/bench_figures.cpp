#include "cli/bench_figures.h"

#include <algorithm>
#include <ctime>

namespace detol {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Figure median_figure(std::string name, std::string_view unit, std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto at = [&](std::size_t percent) {
    return samples[(samples.size() - 1) * percent / 100];
  };
  const double spread = (at(90) - at(10)) / at(50);
  return {std::move(name), at(50), std::string(unit), std::ssize(samples), spread};
}

}  // namespace detol
