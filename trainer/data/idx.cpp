#include "trainer/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/hash.h"
#include "trainer/data/packed_file.h"
#include "trainer/data/split.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLabelsStart = 8;  // behind magic number and size
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// `first` counts images within one file.
using Sink = std::function<void(std::size_t first, std::span<const std::uint8_t> pixels)>;

// One half of the data: an image file, open behind its header, and all its labels.
struct Half {
  PackedFile images;
  PackedFile labels_file;
  std::vector<std::uint8_t> labels;
  Shape shape;
  std::uint64_t fingerprint = 0;  // of what was read so far

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  tl::unexpected<Error> label_error(std::size_t label, std::string_view what) const {
    return labels_file.error_at(kLabelsStart + label, what);
  }
};

struct Parts {
  Half train;
  Half test;
  Split split;
  int classes = 0;
};

Result<PackedFile> open_one(const fs::path& folder, std::string_view half, std::string_view what,
                            int dimensions) {
  for (std::string_view separator : {"-", "."}) {
    for (std::string_view packing : {"", ".gz"}) {
      const fs::path path =
          folder / fmt::format("{}-{}{}idx{}-ubyte{}", half, what, separator, dimensions, packing);
      std::error_code ignored;
      const bool is_there = fs::status(path, ignored).type() != fs::file_type::not_found;
      if (is_there) return PackedFile::open(path);  // which says so if it may not be read
    }
  }
  return fail(ErrorCode::kInput,
              fmt::format("{}: neither {}-{}-idx{}-ubyte nor its .gz is there; put the IDX files "
                          "into this folder or name another with --data",
                          folder.string(), half, what, dimensions));
}

Result<std::uint32_t> read_number(PackedFile& file) {
  std::array<std::uint8_t, 4> bytes{};
  DETOL_TRY(file.read(bytes));
  std::uint32_t number = 0;
  for (std::uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

// The sizes in a header, each at least 1, their product within the file.
Result<std::vector<std::int64_t>> read_header(PackedFile& file, int dimensions) {
  DETOL_ASSIGN(const std::uint32_t magic, read_number(file));
  const std::uint32_t expected = 0x800 + static_cast<std::uint32_t>(dimensions);
  if (magic != expected) {
    return file.error_at(0, fmt::format("magic number {:#010x}, expected {:#010x} ({})", magic,
                                        expected, dimensions == 1 ? "labels" : "images"));
  }
  std::vector<std::int64_t> sizes;
  double claimed = 1;
  for (int i = 0; i < dimensions; ++i) {
    DETOL_ASSIGN(const std::uint32_t size, read_number(file));
    if (size == 0) return file.error_at(file.offset() - 4, "a size is 0");
    sizes.push_back(size);
    claimed *= size;
  }
  const double left = static_cast<double>(file.largest_size()) - static_cast<double>(file.offset());
  if (claimed > left) {
    return file.error_at(4, fmt::format("sizes {} need {:.0f} bytes, but at most {:.0f} follow: "
                                        "the file is cut or damaged",
                                        fmt::join(sizes, " x "), claimed, std::max(0.0, left)));
  }
  return sizes;
}

Result<Half> open_half(const fs::path& folder, std::string_view half) {
  DETOL_ASSIGN(PackedFile labels_file, open_one(folder, half, "labels", 1));
  DETOL_ASSIGN(const std::vector<std::int64_t> labels_size, read_header(labels_file, 1));
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(labels_size[0]));
  DETOL_TRY(labels_file.read(labels));
  DETOL_TRY(labels_file.expect_end());

  DETOL_ASSIGN(PackedFile images, open_one(folder, half, "images", 3));
  DETOL_ASSIGN(const std::vector<std::int64_t> sizes, read_header(images, 3));
  if (sizes[0] != labels_size[0]) {
    return images.error_at(4, fmt::format("{} images, but {} has {} labels", sizes[0],
                                          labels_file.path().string(), labels_size[0]));
  }
  std::uint64_t fingerprint = hash64(std::as_bytes(std::span(labels)));
  for (std::int64_t size : sizes) {
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(size));
  }
  return Half{std::move(images), std::move(labels_file), std::move(labels),
              Shape{1, sizes[1], sizes[2]}, fingerprint};
}

// Hands over all images of a half, a chunk at a time. A chunk's size depends on the image's
// alone: the fingerprint is the same for a packed and for a plain file.
Result<void> read_images(Half& half, const Sink& sink) {
  const auto size = static_cast<std::size_t>(half.shape.elements());
  const std::size_t step = std::max<std::size_t>(1, kChunkBytes / size);
  std::vector<std::uint8_t> chunk(size * std::min(step, half.labels.size()));
  for (std::size_t first = 0; first < half.labels.size(); first += step) {
    const std::size_t images = std::min(step, half.labels.size() - first);
    const std::span<std::uint8_t> pixels(chunk.data(), images * size);
    DETOL_TRY(half.images.read(pixels));
    half.fingerprint = hash_combine(half.fingerprint, hash64(std::as_bytes(pixels)));
    sink(first, pixels);
  }
  return half.images.expect_end();
}

Result<void> check_folder(const DataConfig& config) {
  std::error_code error;
  const fs::file_type type = fs::status(config.path, error).type();
  if (type == fs::file_type::directory) return {};
  const std::string reason = type == fs::file_type::not_found ? "no such folder"
                             : error                          ? error.message()
                                                              : "it is not a folder";
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}; name the folder of the IDX files with data.path or --data "
                          "(Fashion-MNIST: apt install dataset-fashion-mnist)",
                          config.path, reason));
}

// Every class is trained on, and no other is tested.
Result<void> check_labels(const Half& train, const Half& test, const Split& split, int classes) {
  if (classes < 2) return train.label_error(0, "all labels are 0: there is nothing to tell apart");
  if (const auto missing = class_without_images(split, train.labels, classes)) {
    const auto largest = std::find(train.labels.begin(), train.labels.end(), classes - 1);
    return train.label_error(
        static_cast<std::size_t>(largest - train.labels.begin()),
        fmt::format("label {0}, so the classes are 0..{0}, but class {1} has no image to train on",
                    classes - 1, *missing));
  }
  for (std::size_t i = 0; i < test.labels.size(); ++i) {
    if (test.labels[i] < classes) continue;
    return test.label_error(i, fmt::format("label {}, but the classes to train on are 0..{}",
                                           test.labels[i], classes - 1));
  }
  return {};
}

// Everything but the pixels, checked.
Result<Parts> open_parts(const DataConfig& config) {
  DETOL_TRY(check_folder(config));
  DETOL_ASSIGN(Half train, open_half(config.path, "train"));
  DETOL_ASSIGN(Half test, open_half(config.path, "t10k"));
  if (train.shape != test.shape) {
    return test.images.error_at(8, fmt::format("images of {}, but those to train on are {}",
                                               to_text(test.shape), to_text(train.shape)));
  }
  const int classes = *std::max_element(train.labels.begin(), train.labels.end()) + 1;
  DETOL_ASSIGN(Split split, split_training(train.count(), config.validation));
  DETOL_TRY(check_labels(train, test, split, classes));
  return Parts{std::move(train), std::move(test), std::move(split), classes};
}

// REQUIRES: all images of both halves were read.
DatasetInfo info_of(const Parts& parts) {
  std::uint64_t fingerprint = hash_combine(parts.train.fingerprint, parts.test.fingerprint);
  fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(parts.split.validation));
  return {.task = {.input = parts.train.shape, .classes = parts.classes},
          .training = parts.split.training,
          .validation = parts.split.validation,
          .test = parts.test.count(),
          .fingerprint = fingerprint};
}

}  // namespace

Result<Dataset> load_idx(const DataConfig& config) {
  DETOL_ASSIGN(Parts parts, open_parts(config));
  const auto size = static_cast<std::size_t>(parts.train.shape.elements());
  const std::size_t train_images = parts.train.labels.size();
  Dataset dataset;
  dataset.images.resize((train_images + parts.test.labels.size()) * size);
  dataset.labels.resize(train_images + parts.test.labels.size());

  for (std::size_t i = 0; i < train_images; ++i) {
    dataset.labels[static_cast<std::size_t>(parts.split.position[i])] = parts.train.labels[i];
  }
  std::copy(parts.test.labels.begin(), parts.test.labels.end(),
            dataset.labels.begin() + static_cast<std::ptrdiff_t>(train_images));
  const auto scatter = [&](std::size_t first, std::span<const std::uint8_t> pixels) {
    for (std::size_t i = 0; i * size < pixels.size(); ++i) {
      const auto at = static_cast<std::size_t>(parts.split.position[first + i]);
      std::memcpy(&dataset.images[at * size], &pixels[i * size], size);
    }
  };
  const auto append = [&](std::size_t first, std::span<const std::uint8_t> pixels) {
    std::memcpy(&dataset.images[(train_images + first) * size], pixels.data(), pixels.size());
  };
  DETOL_TRY(read_images(parts.train, scatter));
  DETOL_TRY(read_images(parts.test, append));
  dataset.info = info_of(parts);
  return dataset;
}

Result<DatasetInfo> inspect_idx(const DataConfig& config) {
  DETOL_ASSIGN(Parts parts, open_parts(config));
  const Sink drop = [](std::size_t, std::span<const std::uint8_t>) {};
  DETOL_TRY(read_images(parts.train, drop));
  DETOL_TRY(read_images(parts.test, drop));
  return info_of(parts);
}

}  // namespace detol
