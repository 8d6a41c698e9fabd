#pragma once

// Figures: the results of a benchmark. Not thread-safe.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline bench {

struct Figure {
  std::string name;
  double value = 0;  // the median; for peak_fma the maximum
  std::string unit;
  std::int64_t n = 0;  // measurements
  double spread = 0;   // (p90 - p10) / median
};

// Returns the median of samples. REQUIRES: at least one sample.
Figure median_figure(std::string name, std::string_view unit, std::vector<double> samples);

// Figures: the requested figures of a run, in the order in which they were measured.
class Figures {
 public:
  // Collects figures whose name contains `only`; calls `on_figure` with each as soon as it is
  // known.
  explicit Figures(std::string only = {}, std::function<void(const Figure&)> on_figure = {})
      : only_(std::move(only)), on_figure_(std::move(on_figure)) {}

  bool wants(std::string_view name) const { return name.find(only_) != std::string_view::npos; }

  // Adds a figure, or drops it if it was not requested.
  void add(Figure figure);

  // Adds the median of `times` samples; measures nothing if the figure was not requested.
  template <typename Sample>
  void measure(std::string name, std::string_view unit, int times, Sample sample) {
    if (!wants(name)) return;
    std::vector<double> samples;
    for (int i = 0; i < times; ++i) samples.push_back(sample());
    add(median_figure(std::move(name), unit, std::move(samples)));
  }

  const std::vector<Figure>& all() const { return all_; }

 private:
  std::string only_;
  std::function<void(const Figure&)> on_figure_;
  std::vector<Figure> all_;
};

}  // namespace detol::inline bench
