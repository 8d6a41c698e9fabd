#include "trainer/data/formats/hdf5_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "core/descriptor.h"
#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/hdf5_process.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {
namespace {

constexpr std::string_view kCopyAgain = "copy or download the file again";

// Array: an array of the file, with its description in the file.
struct Array {
  std::shared_ptr<Hdf5Process> file;
  std::string name;
  std::string place;  // "<file>: <name>", for messages
  std::vector<std::int64_t> sizes = {};
  bool is_integer = true;
  bool is_of_bytes = true;
  std::size_t bytes = 1;  // of a number

  tl::unexpected<Error> error(std::string_view what, std::string_view remedy) const {
    return fail(ErrorCode::kInput, fmt::format("{}: {}; {}", place, what, remedy));
  }

  // Reads all elements of samples first .. first + count - 1.
  Result<void> read(std::int64_t first, std::int64_t count, Hdf5Number number,
                    std::span<std::byte> out) const {
    if (file->read(name, first, count, number, out)) return {};
    return error(fmt::format("sample {} cannot be read: the file is cut or damaged", first),
                 kCopyAgain);
  }
};

// Checks the sizes against the bytes in the file, before memory is allocated for them.
Result<void> check_sizes(const Array& array, const Hdf5Array& said, const std::string& path) {
  double claimed = static_cast<double>(said.element);
  for (const std::int64_t size : array.sizes) {
    if (size < 1) return array.error("a size is 0", "leave the array out");
    claimed *= static_cast<double>(size);
  }
  std::error_code ignored;
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(path, ignored));
  const double stored = std::min(static_cast<double>(said.stored), file_bytes);
  if (claimed <= stored * static_cast<double>(kLargestDeflateRatio)) return {};
  return array.error(fmt::format("sizes {} need {:.0f} bytes, but {:.0f} are stored",
                                 fmt::join(array.sizes, " x "), claimed, stored),
                     "write the array whole");
}

Result<Array> open_array(const std::shared_ptr<Hdf5Process>& file, const std::string& path,
                         std::string_view name) {
  const Hdf5Array said = file->find(name);
  Array array{.file = file,
              .name = std::string(name),
              .place = fmt::format("{}: {}", path, name),
              .is_integer = said.is_integer,
              .is_of_bytes = said.is_of_bytes,
              .bytes = said.element};
  if (said.rank < 1 || said.rank > Hdf5Array::kMostSizes)
    return array.error("no array with sizes", "write it as one");
  if (!said.is_self_contained)
    return array.error("its numbers lie in another file", "write them into this one");
  array.sizes.assign(said.sizes.begin(), said.sizes.begin() + said.rank);
  if (!said.is_integer && !said.is_float)
    return array.error("neither whole numbers nor floats", "write it as uint8 or float32");
  DETOL_TRY(check_sizes(array, said, path));
  return array;
}

class Hdf5Pixels final : public PixelSource {
 public:
  Hdf5Pixels(Array images, std::string labels_place, const ImageLayout& layout,
             std::vector<double> offsets)
      : images_(std::move(images)),
        labels_place_(std::move(labels_place)),
        layout_(layout),
        offsets_(std::move(offsets)) {}

  Result<void> read(std::span<std::byte> out) override {
    return layout_.has_bytes ? read_as<std::uint8_t>(out, Hdf5Number::kByte)
                             : read_as<float>(out, Hdf5Number::kFloat);
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    return fail(ErrorCode::kInput, fmt::format("{}: sample {}: {}; mend or leave out that sample",
                                               labels_place_, sample, what));
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return images_.error(what, "write it again");
  }

 private:
  template <typename Pixel>
  Result<void> read_as(std::span<std::byte> bytes, Hdf5Number number) {
    const auto size = static_cast<std::size_t>(layout_.shape.elements());
    const std::span<Pixel> out(reinterpret_cast<Pixel*>(bytes.data()),
                               bytes.size() / sizeof(Pixel));
    std::vector<Pixel> raw(out.size());
    const auto count = static_cast<std::int64_t>(out.size() / size);
    DETOL_TRY(read_raw(std::span(raw), count, number));
    if constexpr (std::is_same_v<Pixel, float>) {
      const std::size_t bad = first_not_finite(raw);
      if (bad < raw.size()) {
        return images_.error(fmt::format("{} in sample {}: all values must be finite numbers",
                                         raw[bad], static_cast<std::size_t>(at_) + bad / size),
                             "mend or leave out that sample");
      }
    }
    at_ += count;
    for (std::size_t first = 0; first < out.size(); first += size) {
      const auto image = std::span<const Pixel>(raw).subspan(first, size);
      if (layout_.is_channels_last)
        to_planes(image, layout_.shape, out.subspan(first, size));
      else
        std::ranges::copy(image, &out[first]);
    }
    return {};
  }

  Result<void> read_raw(std::span<std::uint8_t> raw, std::int64_t count, Hdf5Number number) {
    return images_.read(at_, count, number, std::as_writable_bytes(raw));
  }

  Result<void> read_raw(std::span<float> raw, std::int64_t count, Hdf5Number number) {
    if (offsets_.empty()) return images_.read(at_, count, number, std::as_writable_bytes(raw));
    std::vector<double> exact(raw.size());
    DETOL_TRY(
        images_.read(at_, count, Hdf5Number::kDouble, std::as_writable_bytes(std::span(exact))));
    subtract(exact, offsets_, raw);
    return {};
  }

  Array images_;
  std::string labels_place_;
  ImageLayout layout_;
  std::vector<double> offsets_;
  std::int64_t at_ = 0;  // the next sample
};

constexpr std::string_view kMendSample = "mend or leave out that sample";

Result<std::vector<std::int32_t>> read_labels(const Array& array) {
  if (!array.is_integer) {
    return array.error("labels must be whole numbers, not floats",
                       "convert them, or say data.task: regression");
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(array.sizes[0]));
  DETOL_TRY(array.read(0, array.sizes[0], Hdf5Number::kWhole,
                       std::as_writable_bytes(std::span(numbers))));
  return labels_of(numbers, [&](std::size_t i, std::string_view what) {
    return array.error(fmt::format("sample {}: {}", i, what), kMendSample);
  });
}

Result<std::vector<double>> read_targets(const Array& array, std::size_t outputs, TaskKind task) {
  std::vector<double> targets(static_cast<std::size_t>(array.sizes[0]) * outputs);
  DETOL_TRY(array.read(0, array.sizes[0], Hdf5Number::kDouble,
                       std::as_writable_bytes(std::span(targets))));
  if (const auto bad = bad_target(targets, task))
    return array.error(fmt::format("sample {}: {}", bad->at / outputs, bad->what), kMendSample);
  return targets;
}

// Reads all of a table. `channels`: as many columns as have offsets of their own.
Result<std::vector<double>> find_offsets(const Array& table, std::size_t channels) {
  constexpr std::int64_t kRows = 1024;  // at a time
  std::vector<OffsetFinder> finders(channels);
  for (std::int64_t first = 0; first < table.sizes[0]; first += kRows) {
    const std::int64_t count = std::min(kRows, table.sizes[0] - first);
    std::vector<double> rows(static_cast<std::size_t>(count * table.sizes[1]));
    DETOL_TRY(
        table.read(first, count, Hdf5Number::kDouble, std::as_writable_bytes(std::span(rows))));
    add_rows(rows, finders);
  }
  return offsets_of(finders);
}

class Hdf5Box final : public ArrayBox {
 public:
  Hdf5Box(const DataConfig& config, std::shared_ptr<Hdf5Process> file)
      : config_(config), file_(std::move(file)) {}

  bool has(std::string_view name) const override { return file_->find(name).is_there; }

  Result<Samples> open(std::string_view images_name, std::string_view labels_name,
                       const Offsets* of_training) override {
    DETOL_ASSIGN(Array images, open_array(file_, config_.path, images_name));
    DETOL_ASSIGN(const Array labels, open_array(file_, config_.path, labels_name));
    const auto layout = layout_of(images.sizes, images.is_of_bytes, config_);
    if (!layout) return images.error(layout.error(), "or write it otherwise");
    const auto outputs = outputs_in(labels.sizes, images.sizes[0], config_.task);
    if (!outputs) return labels.error(outputs.error(), "write one number for each");
    Samples samples{.shape = layout->shape, .has_bytes = layout->has_bytes, .outputs = *outputs};
    if (has_labels(config_.task)) {
      DETOL_ASSIGN(samples.labels, read_labels(labels));
    } else {
      DETOL_ASSIGN(const std::vector<double> targets, read_targets(labels, *outputs, config_.task));
      samples.targets =
          offset_targets(targets, config_.task, *outputs, of_training, samples.offsets);
    }
    if (of_training != nullptr) {
      samples.offsets.inputs = of_training->inputs;
    } else if (may_have_offsets(images.sizes, images.bytes, images.is_integer)) {
      DETOL_ASSIGN(samples.offsets.inputs,
                   find_offsets(images, static_cast<std::size_t>(layout->shape.channels)));
    }
    samples.fingerprint = fingerprint_of(samples);
    samples.pixels = std::make_unique<Hdf5Pixels>(std::move(images), labels.place, *layout,
                                                  samples.offsets.inputs);
    return samples;
  }

 private:
  const DataConfig& config_;
  std::shared_ptr<Hdf5Process> file_;
};

Result<Found> open_hdf5(const DataConfig& config) {
  DETOL_TRY(check_regular_file(config.path));
  DETOL_ASSIGN(Hdf5Process process, Hdf5Process::start(config.path));
  const auto file = std::make_shared<Hdf5Process>(std::move(process));
  const bool is_open = file->is_open();
  if (!is_open && !file->has_died()) {
    return fail(ErrorCode::kInput, config.path +
                                       ": no HDF5 file, or cut or damaged; name another "
                                       "with data.path or --data");
  }
  Hdf5Box box(config, file);
  auto found = open_arrays(config, box);
  if (!file->has_died()) return found;
  return fail(ErrorCode::kInput,
              fmt::format("{}: the file is damaged: the HDF5 library failed on it; {}", config.path,
                          kCopyAgain));
}

constexpr std::array kRow{FormatRow{"hdf5", "arrays of one HDF5 file", load_found<open_hdf5>,
                                    inspect_found<open_hdf5>, true}};

}  // namespace

std::span<const FormatRow> hdf5_formats() {
  return kRow;
}

}  // namespace detol::inline trainer
