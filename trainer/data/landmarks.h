#pragma once

// Landmarks: the scores of cheap models on points, and what they and other
// meta-features compute with (meta_features.h).

#include <cstddef>
#include <optional>
#include <vector>

#include "trainer/data/data_sample.h"

namespace detol::inline trainer {

// Points: one per row, rows x columns numbers.
struct Points {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;

  const float* row(std::size_t i) const { return &values[i * columns]; }
  float* row(std::size_t i) { return &values[i * columns]; }
};

float squared_distance(const float* a, const float* b, std::size_t columns);

struct Landmarks {
  std::optional<double> nearest_neighbour, nearest_centroid, ridge;
};

// Returns the scores of models that learn from the first two thirds of the rows and are measured
// on the others; empty if the sample has neither labels nor targets, or more than 256 of them.
// `inputs` has a row for each of the sample, of mean 0 and deviation 1.
Landmarks landmarks_of(const DataSample& sample, const Points& inputs);

}  // namespace detol::inline trainer
