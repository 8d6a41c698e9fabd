#pragma once

// Arrays: the code that the formats of named arrays share: the known names, which of an array's
// sizes are channels, and whole numbers as labels.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

// ArrayBox: the arrays of one file or folder.
class ArrayBox {
 public:
  virtual ~ArrayBox() = default;
  virtual bool has(std::string_view name) const = 0;

  // Returns the samples of an array of images and one of labels, less the offsets of those to train
  // on, which are found where there are none yet. REQUIRES: it has both.
  virtual Result<Samples> open(std::string_view images, std::string_view labels,
                               const Offsets* of_training) = 0;
};

// Opens x_train and y_train, train_images and train_labels, x and y and so on, with those for
// validation and test if present. data.images and data.label are the names of the first two, if
// set. Errors (kInput): the arrays to train on are missing.
Result<Found> open_arrays(const DataConfig& config, ArrayBox& box);

struct ImageLayout {
  Shape shape;
  bool has_bytes = true;
  bool is_channels_last = false;  // in the file
};

// Returns the layout of an array of these sizes, samples first. Two sizes are a table, whose
// numbers are always floats; three are N x H x W; four have their channels where data.layout says,
// else where a size is at most 4. Unexpected: why the layout is ambiguous.
tl::expected<ImageLayout, std::string> layout_of(std::span<const std::int64_t> sizes,
                                                 bool is_of_bytes, const DataConfig& config);

// Copies one image of H x W x C to C x H x W. REQUIRES: both have the shape's size, and do not
// overlap.
template <typename Pixel>
void to_planes(std::span<const Pixel> image, const Shape& shape, std::span<Pixel> out) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t plane = image.size() / channels;
  if (channels == 3) {  // one pass, which compilers turn into shuffles of whole registers
    const Pixel* __restrict from = image.data();
    Pixel* __restrict first = out.data();
    Pixel* __restrict second = first + plane;
    Pixel* __restrict third = second + plane;
    for (std::size_t i = 0; i < plane; ++i) {
      first[i] = from[3 * i];
      second[i] = from[3 * i + 1];
      third[i] = from[3 * i + 2];
    }
    return;
  }
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t i = 0; i < plane; ++i)
      out[channel * plane + i] = image[i * channels + channel];
  }
}

// Returns how many targets an array of these sizes has for each of the images: one or, for tasks
// without classes, as many as it has columns. Unexpected: why it does not fit the images.
tl::expected<std::size_t, std::string> outputs_in(std::span<const std::int64_t> sizes,
                                                  std::int64_t images, TaskKind task);

// BadTarget is the first target that is not finite or, in a multi_label task, neither 0 nor 1, and
// its index; bad_target() returns nothing if there is none.
struct BadTarget {
  std::size_t at = 0;
  std::string what;
};
std::optional<BadTarget> bad_target(std::span<const double> targets, TaskKind task);

// Converts numbers to labels, from 0 up to the largest that a class can have. `error_at` makes the
// error of the label at an index.
Result<std::vector<std::int32_t>> labels_of(
    std::span<const std::int64_t> numbers,
    const std::function<tl::unexpected<Error>(std::size_t, std::string_view)>& error_at);

// Returns whether floats may be too coarse for the numbers of an array: a table of numbers of 8
// bytes, or of whole ones of 4.
bool may_have_offsets(std::span<const std::int64_t> sizes, std::size_t bytes, bool is_whole);

// Adds rows of numbers to the finders of their columns; of a sequence there is one for all.
void add_rows(std::span<const double> rows, std::span<OffsetFinder> columns);

// Writes numbers less the offsets of their columns.
void subtract(std::span<const double> rows, std::span<const double> offsets, std::span<float> out);

// Returns the targets less their offsets, which are found where `of_training` is null.
std::vector<float> offset_targets(std::span<const double> targets, TaskKind task,
                                  std::size_t outputs, const Offsets* of_training,
                                  Offsets& offsets);

// Returns the index of the first value that is infinite or NaN; all.size() if there is none.
std::size_t first_not_finite(std::span<const float> all);

}  // namespace detol::inline trainer
