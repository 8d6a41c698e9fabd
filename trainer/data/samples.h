#pragma once

// Samples: the contents of a format's files, in their order: labels, or the targets of a task
// without labels, and a source of pixels that is read once, front to back. The work that all
// formats share is done here: the split, the checks of labels and shapes, the fingerprint, and the
// copy of pixels to their positions. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

class PixelSource {
 public:
  virtual ~PixelSource() = default;

  // Reads the next samples, as many as `out` holds: bytes, or floats of this machine, C x H x W.
  // After the last one it checks that nothing follows. Errors (kInput) name file, byte or member,
  // and remedy.
  virtual Result<void> read(std::span<std::byte> out) = 0;

  // Return an error (kInput) with the place in the file: `what` is wrong with the label of a
  // sample, or with the size of all images.
  virtual tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const = 0;
  virtual tl::unexpected<Error> shape_error(std::string_view what) const = 0;
};

struct Samples {
  Shape shape;
  bool has_bytes = true;                  // else finite floats
  std::vector<std::int32_t> labels = {};  // at least one, none below 0
  std::vector<float> targets = {};        // instead of labels: samples x outputs, checked
  std::size_t outputs = 1;                // targets per sample
  Offsets offsets = {};                   // subtracted from pixels and targets
  std::uint64_t fingerprint = 0;          // of labels or targets, and of the shape
  std::unique_ptr<PixelSource> pixels = nullptr;
  std::vector<std::string> remarks = {};  // what people should know of the files

  std::size_t size() const { return labels.empty() ? targets.size() / outputs : labels.size(); }
  std::int64_t count() const { return static_cast<std::int64_t>(size()); }
};

// Found: a data set whose pixels are still in its files.
struct Found {
  Samples training;
  std::optional<Samples> validation = {};     // if none: data.split.validation of training
  std::optional<Samples> test = {};           // if none: data.split.test of training
  std::vector<std::string> class_names = {};  // empty: the classes are 0 to the largest label
  std::optional<PictureForm> pictures = {};   // of picture files
};

// Hashes labels, each as one number, and the shape.
std::uint64_t fingerprint_of(std::span<const std::int32_t> labels, const Shape& shape);

// Hashes labels or targets, and the shape.
std::uint64_t fingerprint_of(const Samples& samples);

// Reads all pixels into a data set. Errors (kInput): pixels or labels are wrong.
Result<Dataset> assemble(Found found, const DataConfig& config);

// Makes the same checks with only a chunk of pixels in memory at a time.
Result<DatasetInfo> examine(Found found, const DataConfig& config);

// The two functions of a format's row, made from the function that opens its files.
template <Result<Found> (*open)(const DataConfig& config)>
Result<Dataset> load_found(const DataConfig& config) {
  DETOL_ASSIGN(Found found, open(config));
  return assemble(std::move(found), config);
}

template <Result<Found> (*open)(const DataConfig& config)>
Result<DatasetInfo> inspect_found(const DataConfig& config) {
  DETOL_ASSIGN(Found found, open(config));
  return examine(std::move(found), config);
}

}  // namespace detol::inline trainer
