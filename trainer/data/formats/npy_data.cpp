#include "trainer/data/formats/npy_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "trainer/data/formats/archive.h"
#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/npy.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

// OpenArray: an array whose header was read.
struct OpenArray {
  PackedFile file;
  NpyArray array;

  tl::unexpected<Error> error_at(std::uint64_t element, std::string_view what) const {
    return file.error_at(array.start + element * array.bytes, what);
  }
};

Result<OpenArray> open_array(PackedFile file) {
  DETOL_ASSIGN(NpyArray array, read_npy_header(file));
  return OpenArray{std::move(file), std::move(array)};
}

class NpyPixels final : public PixelSource {
 public:
  NpyPixels(OpenArray images, OpenArray labels, const ImageLayout& layout,
            std::vector<double> offsets)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        layout_(layout),
        offsets_(std::move(offsets)) {
    const auto elements = static_cast<std::size_t>(layout_.shape.elements());
    raw_.resize(elements * images_.array.bytes);
    if (!layout_.has_bytes) values_.resize(elements);
  }

  Result<void> read(std::span<std::byte> out) override {
    const auto elements = static_cast<std::size_t>(layout_.shape.elements());
    const std::size_t size = elements * (layout_.has_bytes ? 1 : sizeof(float));
    for (; !out.empty(); out = out.subspan(size)) {
      DETOL_TRY(images_.file.read(raw_));
      if (layout_.has_bytes) {
        place<std::uint8_t>(raw_, {reinterpret_cast<std::uint8_t*>(out.data()), elements});
      } else {
        DETOL_TRY(convert());
        place<float>(values_, {reinterpret_cast<float*>(out.data()), elements});
      }
      read_ += elements;
    }
    return read_ < images_.array.elements() ? Result<void>() : images_.file.expect_end();
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    return labels_.error_at(sample, what);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return images_.error_at(0, what);
  }

 private:
  Result<void> convert() {
    if (offsets_.empty()) {
      to_floats(images_.array, raw_, values_);
    } else {
      std::vector<double> exact(values_.size());
      to_doubles(images_.array, raw_, exact);
      subtract(exact, offsets_, values_);
    }
    const std::size_t bad = first_not_finite(values_);
    if (bad == values_.size()) return {};
    return byte_error(images_.file.path(),
                      images_.array.start + (read_ + bad) * images_.array.bytes,
                      fmt::format("{} in sample {}: all values must be finite numbers",
                                  values_[bad], read_ / values_.size()),
                      "mend or leave out that sample");
  }

  template <typename Pixel>
  void place(std::span<const Pixel> image, std::span<Pixel> out) const {
    if (layout_.is_channels_last) return to_planes(image, layout_.shape, out);
    std::ranges::copy(image, out.begin());
  }

  OpenArray images_;
  OpenArray labels_;
  ImageLayout layout_;
  std::vector<double> offsets_;
  std::uint64_t read_ = 0;  // elements read so far
  std::vector<std::uint8_t> raw_;
  std::vector<float> values_;
};

std::vector<std::uint8_t> room_for(const NpyArray& array) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(array.elements()) * array.bytes);
}

Result<std::vector<std::int32_t>> read_labels(OpenArray& open) {
  if (!open.array.is_whole()) {
    return open.error_at(0,
                         "labels must be whole numbers, not floats; convert them with astype, "
                         "or say data.task: regression");
  }
  std::vector<std::uint8_t> raw = room_for(open.array);
  DETOL_TRY(open.file.read(raw));
  DETOL_TRY(open.file.expect_end());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(open.array.elements()));
  to_whole_numbers(open.array, raw, numbers);
  return labels_of(numbers,
                   [&](std::size_t i, std::string_view what) { return open.error_at(i, what); });
}

Result<std::vector<double>> read_targets(OpenArray& open, TaskKind task) {
  std::vector<std::uint8_t> raw = room_for(open.array);
  DETOL_TRY(open.file.read(raw));
  DETOL_TRY(open.file.expect_end());
  std::vector<double> targets(static_cast<std::size_t>(open.array.elements()));
  to_doubles(open.array, raw, targets);
  if (const auto bad = bad_target(targets, task)) return open.error_at(bad->at, bad->what);
  return targets;
}

// Reads all of a table. `channels`: as many columns as have offsets of their own.
Result<std::vector<double>> find_offsets(OpenArray table, std::size_t channels) {
  const auto columns = static_cast<std::size_t>(table.array.sizes[1]);
  std::vector<OffsetFinder> finders(channels);
  std::vector<std::uint8_t> raw(columns * table.array.bytes);
  std::vector<double> row(columns);
  for (std::int64_t i = 0; i < table.array.sizes[0]; ++i) {
    DETOL_TRY(table.file.read(raw));
    to_doubles(table.array, raw, row);
    add_rows(row, finders);
  }
  return offsets_of(finders);
}

using Open = std::function<Result<PackedFile>()>;

// `of_training`: offsets that were found, or null.
Result<Samples> samples_of(const Open& open_images, PackedFile labels_file,
                           const DataConfig& config, const Offsets* of_training) {
  DETOL_ASSIGN(PackedFile images_file, open_images());
  DETOL_ASSIGN(OpenArray images, open_array(std::move(images_file)));
  DETOL_ASSIGN(OpenArray labels, open_array(std::move(labels_file)));
  const auto layout = layout_of(images.array.sizes, images.array.is_of_bytes(), config);
  if (!layout) return images.error_at(0, layout.error());
  const auto outputs = outputs_in(labels.array.sizes, images.array.sizes[0], config.task);
  if (!outputs) return labels.error_at(0, outputs.error() + "; there must be one number for each");
  Samples samples{.shape = layout->shape, .has_bytes = layout->has_bytes, .outputs = *outputs};
  if (has_labels(config.task)) {
    DETOL_ASSIGN(samples.labels, read_labels(labels));
  } else {
    DETOL_ASSIGN(const std::vector<double> targets, read_targets(labels, config.task));
    samples.targets = offset_targets(targets, config.task, *outputs, of_training, samples.offsets);
  }
  if (of_training != nullptr) {
    samples.offsets.inputs = of_training->inputs;
  } else if (may_have_offsets(images.array.sizes, images.array.bytes, images.array.is_whole())) {
    DETOL_ASSIGN(PackedFile again, open_images());
    DETOL_ASSIGN(OpenArray table, open_array(std::move(again)));
    DETOL_ASSIGN(samples.offsets.inputs,
                 find_offsets(std::move(table), static_cast<std::size_t>(layout->shape.channels)));
  }
  samples.fingerprint = fingerprint_of(samples);
  samples.pixels = std::make_unique<NpyPixels>(std::move(images), std::move(labels), *layout,
                                               samples.offsets.inputs);
  return samples;
}

class Folder final : public ArrayBox {
 public:
  explicit Folder(const DataConfig& config) : config_(config) {}

  bool has(std::string_view name) const override { return path_of(name).has_value(); }

  Result<Samples> open(std::string_view images, std::string_view labels,
                       const Offsets* of_training) override {
    DETOL_ASSIGN(PackedFile labels_file, PackedFile::open(*path_of(labels)));
    return samples_of([&] { return PackedFile::open(*path_of(images)); }, std::move(labels_file),
                      config_, of_training);
  }

 private:
  std::optional<fs::path> path_of(std::string_view name) const {
    return find_packed(config_.path, std::string(name) + ".npy");
  }

  const DataConfig& config_;
};

class Npz final : public ArrayBox {
 public:
  static Result<Npz> list(const DataConfig& config) {
    Npz box(config);
    DETOL_ASSIGN(ArchiveReader reader, ArchiveReader::open(config.path, ArchiveKind::kZip));
    for (;;) {
      DETOL_ASSIGN(auto name, reader.next());
      if (!name) return box;
      box.members_.insert(std::move(*name));
    }
  }

  bool has(std::string_view name) const override {
    return members_.contains(std::string(name) + ".npy");
  }

  Result<Samples> open(std::string_view images, std::string_view labels,
                       const Offsets* of_training) override {
    DETOL_ASSIGN(PackedFile labels_file, unpack(std::string(labels) + ".npy"));
    return samples_of([&] { return unpack(std::string(images) + ".npy"); }, std::move(labels_file),
                      config_, of_training);
  }

 private:
  explicit Npz(const DataConfig& config) : config_(config) {}

  Result<PackedFile> unpack(const std::string& member) const {
    DETOL_ASSIGN(ArchiveReader reader, ArchiveReader::open(config_.path, ArchiveKind::kZip));
    for (;;) {
      DETOL_ASSIGN(const auto name, reader.next());
      if (!name) return reader.error(member + " is not there any more", kGetAgain);
      if (*name != member) continue;
      std::error_code ignored;
      const std::uint64_t reachable = fs::file_size(config_.path, ignored) * kLargestDeflateRatio;
      DETOL_ASSIGN(std::string bytes, reader.read(reachable));
      return PackedFile::of_bytes(config_.path + ": " + member, std::move(bytes));
    }
  }

  const DataConfig& config_;
  std::set<std::string> members_;
};

}  // namespace

Result<Found> open_npy(const DataConfig& config) {
  std::error_code ignored;
  if (fs::is_regular_file(config.path, ignored)) {
    if (fs::path(config.path).extension() != ".npz") {
      return fail(ErrorCode::kInput, config.path +
                                         ": name a folder of .npy files, or one .npz "
                                         "file, with data.path or --data");
    }
    DETOL_ASSIGN(Npz box, Npz::list(config));
    return open_arrays(config, box);
  }
  DETOL_TRY(check_folder(config.path, "NPY", "x_train.npy and y_train.npy, made with numpy.save"));
  Folder box(config);
  return open_arrays(config, box);
}

}  // namespace detol::inline trainer
