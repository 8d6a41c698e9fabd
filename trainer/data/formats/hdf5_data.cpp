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
              .is_of_bytes = said.is_of_bytes};
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
  Hdf5Pixels(Array images, std::string labels_place, const ImageLayout& layout)
      : images_(std::move(images)), labels_place_(std::move(labels_place)), layout_(layout) {}

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
    DETOL_TRY(images_.read(at_, count, number, std::as_writable_bytes(std::span(raw))));
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

  Array images_;
  std::string labels_place_;
  ImageLayout layout_;
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

Result<std::vector<float>> read_targets(const Array& array, std::size_t outputs, TaskKind task) {
  std::vector<float> targets(static_cast<std::size_t>(array.sizes[0]) * outputs);
  DETOL_TRY(array.read(0, array.sizes[0], Hdf5Number::kFloat,
                       std::as_writable_bytes(std::span(targets))));
  if (const auto bad = bad_target(targets, task))
    return array.error(fmt::format("sample {}: {}", bad->at / outputs, bad->what), kMendSample);
  return targets;
}

class Hdf5Box final : public ArrayBox {
 public:
  Hdf5Box(const DataConfig& config, std::shared_ptr<Hdf5Process> file)
      : config_(config), file_(std::move(file)) {}

  bool has(std::string_view name) const override { return file_->find(name).is_there; }

  Result<Samples> open(std::string_view images_name, std::string_view labels_name) override {
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
      DETOL_ASSIGN(samples.targets, read_targets(labels, *outputs, config_.task));
    }
    samples.fingerprint = fingerprint_of(samples);
    samples.pixels = std::make_unique<Hdf5Pixels>(std::move(images), labels.place, *layout);
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
