#include "trainer/data/meta_features.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.h"
#include "trainer/data/landmarks.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kProjected = 64;       // columns that landmarks see at most
constexpr std::size_t kDimensionRows = 600;  // for the intrinsic dimension
constexpr std::size_t kNeighbours = 20;      // likewise
constexpr std::size_t kFewestRows = 30;      // less tell nothing

// Moments of a set of numbers.
struct Moments {
  double count = 0, mean = 0, deviation = 0;
};

// Returns the moments of the values of all columns for which `belongs` says so.
template <typename Belongs>
Moments moments(const DataSample& sample, Belongs belongs) {
  double count = 0, sum = 0, squares = 0;
  for (std::size_t column = 0; column < sample.columns; ++column) {
    if (!belongs(column)) continue;
    for (std::size_t i = column; i < sample.values.size(); i += sample.columns) {
      const double value = sample.values[i];
      sum += value;
      squares += value * value;
    }
    count += static_cast<double>(sample.rows);
  }
  const double mean = sum / count;
  return {count, mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

double cube(double x) {
  return x * x * x;
}

double skew_of(const DataSample& sample) {
  double total = 0, columns = 0;
  for (std::size_t column = 0; column < sample.columns; ++column) {
    const Moments all = moments(sample, [&](std::size_t other) { return other == column; });
    if (all.deviation <= 1e-6 * std::abs(all.mean) || all.deviation == 0) continue;
    double cubes = 0;
    for (std::size_t i = column; i < sample.values.size(); i += sample.columns)
      cubes += cube((sample.values[i] - all.mean) / all.deviation);
    total += std::abs(cubes / all.count);
    ++columns;
  }
  return columns == 0 ? 0 : total / columns;
}

// Returns the sample with mean 0 and deviation 1 per channel. A constant channel becomes 0.
Points standardised(const DataSample& sample) {
  Points points{sample.rows, sample.columns, sample.values};
  const std::size_t channels = sample.channels.back() + 1;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto belongs = [&](std::size_t column) { return sample.channels[column] == channel; };
    const auto first = std::ranges::find(sample.channels, channel);
    if (first == sample.channels.end()) continue;
    const Moments all = moments(sample, belongs);
    const double scale = all.deviation > 0 ? 1 / all.deviation : 0;
    for (auto column = static_cast<std::size_t>(first - sample.channels.begin());
         column < sample.columns && belongs(column); ++column) {
      for (std::size_t i = column; i < points.values.size(); i += points.columns)
        points.values[i] = static_cast<float>((points.values[i] - all.mean) * scale);
    }
  }
  return points;
}

// Returns a random projection of the points, by a matrix of +-1.
Points projected(const Points& points) {
  if (points.columns <= kProjected) return points;
  Rng rng(0);
  std::vector<float> signs(points.columns * kProjected);
  const float scale = 1 / std::sqrt(static_cast<float>(kProjected));
  for (std::size_t i = 0; i < points.columns; ++i) {
    const std::uint64_t bits = rng.next();
    for (std::size_t j = 0; j < kProjected; ++j)
      signs[i * kProjected + j] = (bits >> j & 1U) != 0 ? scale : -scale;
  }
  Points low{points.rows, kProjected, std::vector<float>(points.rows * kProjected)};
  for (std::size_t i = 0; i < points.rows; ++i) {
    float* const to = low.row(i);
    for (std::size_t column = 0; column < points.columns; ++column) {
      const float value = points.row(i)[column];
      const float* const sign = &signs[column * kProjected];
      for (std::size_t j = 0; j < kProjected; ++j) to[j] += value * sign[j];
    }
  }
  return low;
}

std::optional<double> dimension_of(const Points& points) {
  const std::size_t rows = std::min(kDimensionRows, points.rows);
  double total = 0, terms = 0;
  std::vector<float> distances;
  for (std::size_t i = 0; i < rows; ++i) {
    distances.clear();
    for (std::size_t j = 0; j < rows; ++j) {
      if (j == i) continue;
      const float squared = squared_distance(points.row(i), points.row(j), points.columns);
      if (squared > 0) distances.push_back(squared);  // not a copy of the row
    }
    if (distances.size() < kNeighbours) continue;
    std::ranges::partial_sort(distances, distances.begin() + kNeighbours);
    for (std::size_t k = 0; k + 1 < kNeighbours; ++k) {
      total += 0.5 * std::log(distances[kNeighbours - 1] / distances[k]);
      ++terms;
    }
  }
  if (terms == 0 || total <= 0) return std::nullopt;
  return terms / total;
}

void fill_class_balance(const std::vector<std::int64_t>& in_class, MetaFeatures& features) {
  const double all = std::accumulate(in_class.begin(), in_class.end(), 0.0);
  if (in_class.size() < 2 || all <= 0) return;
  double entropy = 0;
  for (const std::int64_t count : in_class) {
    const double share = static_cast<double>(count) / all;
    if (share > 0) entropy -= share * std::log(share);
  }
  features.largest_class = static_cast<double>(*std::ranges::max_element(in_class)) / all;
  features.entropy = entropy / std::log(static_cast<double>(in_class.size()));
}

}  // namespace

MetaFeatures meta_features(const DataSample& sample) {
  MetaFeatures features;
  fill_class_balance(sample.in_class, features);
  if (sample.values.empty()) return features;
  const Moments all = moments(sample, [](std::size_t) { return true; });
  features.mean = all.mean;
  features.deviation = all.deviation;
  features.skew = skew_of(sample);
  features.zeros = static_cast<double>(std::ranges::count(sample.values, 0.0F)) / all.count;
  if (sample.rows < kFewestRows) return features;
  const Points points = standardised(sample);
  features.intrinsic_dimension = dimension_of(points);
  const Landmarks landmarks = landmarks_of(sample, projected(points));
  features.nearest_neighbour = landmarks.nearest_neighbour;
  features.nearest_centroid = landmarks.nearest_centroid;
  features.ridge = landmarks.ridge;
  return features;
}

}  // namespace detol::inline trainer
