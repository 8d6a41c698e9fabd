#pragma once

// DataSample: some training images of a data set as rows of numbers, from which its meta-features
// are computed (meta_features.h). Inspecting a data set collects it while it reads, so that
// nothing is read or decoded twice.
//
// It has the first 2,000 images of the training split, which is a random permutation, and of each
// at most 1,024 pixels, evenly spread: at most 8 MB. It depends on the data alone, not on their
// format.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encodings/network/layer.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

struct DataSample {
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool has_bytes = true;                    // else floats
  std::vector<float> values = {};           // rows x columns; bytes are scaled to [0, 1]
  std::vector<std::size_t> channels = {};   // of each column
  std::vector<std::int32_t> labels = {};    // one per row, if the data have labels
  std::size_t outputs = 0;                  // targets per row, if they have targets
  std::vector<float> targets = {};          // rows x outputs
  std::vector<std::int64_t> in_class = {};  // training images of each class, of all rows
};

// DataSampler collects a sample. Images beyond it are ignored. Not thread-safe.
class DataSampler {
 public:
  // `training`: the images of the training split.
  DataSampler(const Shape& shape, std::int64_t training, bool has_bytes);

  // Add training image `at`: its pixels, bytes or floats, C x H x W; its label; its targets.
  void add(std::int64_t at, std::span<const std::byte> pixels);
  void add_label(std::int64_t at, std::int32_t label);
  void add_targets(std::int64_t at, std::span<const float> targets);

  std::shared_ptr<const DataSample> sample() &&;

 private:
  bool takes(std::int64_t at) const { return at < static_cast<std::int64_t>(sample_.rows); }

  DataSample sample_;
  std::vector<std::size_t> pixels_;  // of an image, for each column
};

// Returns the sample of a data set in memory.
std::shared_ptr<const DataSample> sample_of(const Dataset& data);

}  // namespace detol::inline trainer
