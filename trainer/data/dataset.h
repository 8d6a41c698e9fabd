#pragma once

// Dataset: images and labels in memory, split once into training, validation and test.
// The search never sees the test split. Immutable; safe to share between threads.
//
// The rows of a table and sequences are images, too: of many channels and one pixel, or of one
// channel, one row and many columns. Their pixels are floats, not bytes. The cells of a table are
// kept as its file has them, less the offset of their column (offsets.h), and become the image by
// its encoder when they are read.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encodings/network/task.h"
#include "trainer/data/batch_targets.h"
#include "trainer/data/offsets.h"
#include "trainer/data/picture_form.h"

namespace detol::inline trainer {

struct DataSample;
struct TableEncoder;
struct TableLook;

// DatasetInfo describes a data set without its pixels.
struct DatasetInfo {
  Task task;
  std::int64_t training = 0;  // images
  std::int64_t validation = 0;
  std::int64_t test = 0;
  std::uint64_t fingerprint = 0;  // of every byte that was read, and of the split
  // Some training images, where the data were inspected (data_sample.h); else null.
  std::shared_ptr<const DataSample> sample = nullptr;
  std::shared_ptr<const TableLook> look = nullptr;  // of a table in a csv file; else null
  // Sentences for people: what was guessed, left out or passed over, and what is odd.
  std::vector<std::string> remarks = {};
};

enum class DataSplit { kTraining, kValidation, kTest };

// Range: the images first .. first + count - 1.
struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Range range_of(const DatasetInfo& info, DataSplit split);

// MappedPixels refers to pixels in memory that it does not own, such as a file that all workers of
// a machine share: in blocks of `block_images` whole images each; the last may have fewer.
struct MappedPixels {
  std::shared_ptr<const std::byte> blocks;  // keeps their owner alive; null: not mapped
  std::size_t block_bytes = 0;              // a multiple of a pixel's size
  std::size_t block_images = 1;
  bool has_bytes = true;  // else floats
};

struct Dataset {
  DatasetInfo info;
  std::vector<std::uint8_t> images;  // N x C x H x W: training, then validation, then test
  std::vector<float> values;         // instead of `images` if pixels are not bytes
  MappedPixels mapped;               // instead of both if pixels are not copied
  std::shared_ptr<const TableEncoder> table = nullptr;  // of a table; `values` are then its cells
  Offsets offsets = {};  // subtracted from all numbers below and from `values`; of others none
  std::optional<PictureForm> pictures = {};  // of picture files: the form they were given
  std::vector<std::int32_t> labels;          // N, if the task has labels (has_labels())
  std::vector<float> targets;                // else N x outputs, less their offsets
  std::vector<float> mean;                   // per channel, of the training images; bytes in [0, 1]
  std::vector<float> deviation;              // per channel, standard deviation, above 0; likewise
  std::vector<float> target_mean;            // regression: per output, of the training images
  std::vector<float> target_deviation;       // likewise, above 0
  // What a teacher says of the training images (knowledge distillation): N x outputs, as losses
  // take targets: of classes their probabilities. Training uses it instead of labels and targets.
  std::vector<float> teacher = {};
  std::vector<std::string> class_names;  // with targets, of the outputs; empty where there are none

  bool has_bytes() const { return mapped.blocks ? mapped.has_bytes : values.empty(); }
  std::span<const std::uint8_t> image(std::int64_t index) const;  // REQUIRES: has_bytes()
  std::span<const float> values_of(std::int64_t index) const;     // REQUIRES: !has_bytes()
  std::size_t row_size() const;  // numbers that are kept of an image: of a table its cells

  // Writes the label of an image to position `to` of a batch and, if batch.targets is not empty,
  // the targets as losses take them: of classes 1 for the label's and 0 for others, for a binary
  // task 0 or 1, for a regression standardised; of a training image what the teacher says, if there
  // is one. Never touches `mixes`.
  void write_targets(std::int64_t image, std::size_t to, const BatchTargets& batch) const;
};

// Returns whether the images are made of a table's cells by more than mean and deviation.
bool is_encoded(const Dataset& data);

}  // namespace detol::inline trainer
