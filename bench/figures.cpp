#include "bench/figures.h"

#include <algorithm>

namespace detol::inline bench {

Figure median_figure(std::string name, std::string_view unit, std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto at = [&](std::size_t percent) {
    return samples[(samples.size() - 1) * percent / 100];
  };
  const double spread = (at(90) - at(10)) / at(50);
  return {std::move(name), at(50), std::string(unit), std::ssize(samples), spread};
}

void Figures::add(Figure figure) {
  if (!wants(figure.name)) return;
  if (on_figure_) on_figure_(figure);
  all_.push_back(std::move(figure));
}

}  // namespace detol::inline bench
