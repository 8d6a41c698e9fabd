#include "trainer/data/hdf5_data.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "core/descriptor.h"
#include "trainer/data/arrays.h"
#include "trainer/data/samples.h"

namespace detol {
namespace {

constexpr double kLargestRatio = 1032;  // of deflate: 258 bytes from 2 bits
constexpr unsigned kMostSizes = 32;     // of HDF5

// A handle of the library, given back at the end.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }

  bool is_open() const { return id_ >= 0; }
  hid_t operator*() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
  return -1;
}

// Not open if there is none of that name, or a link leads to it out of the file: what lies behind
// one may be anything, also a pipe that nobody writes.
Handle open_dataset(hid_t file, std::string_view name) {
  const Handle settings(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_elink_cb(*settings, refuse_link, nullptr);
  return {H5Dopen2(file, std::string(name).c_str(), *settings), H5Dclose};
}

// Whether the numbers of an array lie in its own file.
bool is_self_contained(hid_t data) {
  const Handle creation(H5Dget_create_plist(data), H5Pclose);
  return creation.is_open() && H5Pget_external_count(*creation) == 0 &&
         H5Pget_layout(*creation) != H5D_VIRTUAL;
}

struct Array {
  std::string place;  // "<file>: <name>", for messages
  Handle data;
  std::vector<std::int64_t> sizes = {};
  bool is_whole = true;
  bool is_of_bytes = true;

  tl::unexpected<Error> error(std::string_view what, std::string_view remedy) const {
    return fail(ErrorCode::kInput, fmt::format("{}: {}; {}", place, what, remedy));
  }

  // Samples first .. first + count - 1, all their elements, as `type`.
  Result<void> read(std::int64_t first, std::int64_t count, hid_t type, void* out) const {
    std::vector<hsize_t> start(sizes.size(), 0), extent(sizes.begin(), sizes.end());
    start[0] = static_cast<hsize_t>(first);
    extent[0] = static_cast<hsize_t>(count);
    const Handle there(H5Dget_space(*data), H5Sclose);
    const Handle here(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                      H5Sclose);
    const bool is_read = there.is_open() && here.is_open() &&
                         H5Sselect_hyperslab(*there, H5S_SELECT_SET, start.data(), nullptr,
                                             extent.data(), nullptr) >= 0 &&
                         H5Dread(*data, type, *here, *there, H5P_DEFAULT, out) >= 0;
    if (is_read) return {};
    return error(fmt::format("sample {} cannot be read: the file is cut or damaged", first),
                 "copy or download the file again");
  }
};

// No memory is taken for sizes that the file cannot hold.
Result<void> check_sizes(const Array& array, std::size_t element, const std::string& path) {
  double claimed = static_cast<double>(element);
  for (const std::int64_t size : array.sizes) {
    if (size < 1) return array.error("a size is 0", "leave the array out");
    claimed *= static_cast<double>(size);
  }
  std::error_code ignored;
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(path, ignored));
  const auto stored = static_cast<double>(H5Dget_storage_size(*array.data));
  if (claimed <= std::min(stored, file_bytes) * kLargestRatio) return {};
  return array.error(
      fmt::format("sizes {} need {:.0f} bytes, but {:.0f} are stored",
                  fmt::join(array.sizes, " x "), claimed, std::min(stored, file_bytes)),
      "write the array whole");
}

Result<Array> open_array(hid_t file, const std::string& path, std::string_view name) {
  Array array{fmt::format("{}: {}", path, name), open_dataset(file, name)};
  const Handle space(H5Dget_space(*array.data), H5Sclose);
  const Handle type(H5Dget_type(*array.data), H5Tclose);
  std::array<hsize_t, kMostSizes> sizes{};
  const int rank = space.is_open() ? H5Sget_simple_extent_ndims(*space) : -1;
  if (!type.is_open() || rank < 1 ||
      H5Sget_simple_extent_dims(*space, sizes.data(), nullptr) != rank)
    return array.error("no array with sizes", "write it as one");
  if (!is_self_contained(*array.data))
    return array.error("its numbers lie in another file", "write them into this one");
  for (int i = 0; i < rank; ++i)
    array.sizes.push_back(static_cast<std::int64_t>(sizes[static_cast<std::size_t>(i)]));
  const H5T_class_t kind = H5Tget_class(*type);
  if (kind != H5T_INTEGER && kind != H5T_FLOAT)
    return array.error("neither whole numbers nor floats", "write it as uint8 or float32");
  const std::size_t element = H5Tget_size(*type);
  array.is_whole = kind == H5T_INTEGER;
  array.is_of_bytes = array.is_whole && element == 1 && H5Tget_sign(*type) == H5T_SGN_NONE;
  DETOL_TRY(check_sizes(array, element, path));
  return array;
}

class Hdf5Pixels final : public PixelSource {
 public:
  Hdf5Pixels(std::shared_ptr<Handle> file, Array images, std::string labels_place,
             const ImageLayout& layout)
      : file_(std::move(file)),
        images_(std::move(images)),
        labels_place_(std::move(labels_place)),
        layout_(layout) {}

  Result<void> read(std::span<std::byte> out) override {
    return layout_.has_bytes ? read_as<std::uint8_t>(out, H5T_NATIVE_UINT8)
                             : read_as<float>(out, H5T_NATIVE_FLOAT);
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
  Result<void> read_as(std::span<std::byte> bytes, hid_t type) {
    const auto size = static_cast<std::size_t>(layout_.shape.elements());
    const std::span<Pixel> out(reinterpret_cast<Pixel*>(bytes.data()),
                               bytes.size() / sizeof(Pixel));
    std::vector<Pixel> raw(out.size());
    const auto count = static_cast<std::int64_t>(out.size() / size);
    DETOL_TRY(images_.read(at_, count, type, raw.data()));
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

  std::shared_ptr<Handle> file_;
  Array images_;
  std::string labels_place_;
  ImageLayout layout_;
  std::int64_t at_ = 0;  // the next sample
};

constexpr std::string_view kMendSample = "mend or leave out that sample";

Result<std::vector<std::int32_t>> read_labels(const Array& array) {
  if (!array.is_whole) {
    return array.error("labels must be whole numbers, not floats",
                       "convert them, or say data.task: regression");
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(array.sizes[0]));
  DETOL_TRY(array.read(0, array.sizes[0], H5T_NATIVE_INT64, numbers.data()));
  return labels_of(numbers, [&](std::size_t i, std::string_view what) {
    return array.error(fmt::format("sample {}: {}", i, what), kMendSample);
  });
}

Result<std::vector<float>> read_targets(const Array& array, std::size_t outputs, TaskKind task) {
  std::vector<float> targets(static_cast<std::size_t>(array.sizes[0]) * outputs);
  DETOL_TRY(array.read(0, array.sizes[0], H5T_NATIVE_FLOAT, targets.data()));
  if (const auto bad = bad_target(targets, task))
    return array.error(fmt::format("sample {}: {}", bad->at / outputs, bad->what), kMendSample);
  return targets;
}

class Hdf5Box final : public ArrayBox {
 public:
  Hdf5Box(const DataConfig& config, std::shared_ptr<Handle> file)
      : config_(config), file_(std::move(file)) {}

  bool has(std::string_view name) const override { return open_dataset(**file_, name).is_open(); }

  Result<Samples> open(std::string_view images_name, std::string_view labels_name) override {
    DETOL_ASSIGN(Array images, open_array(**file_, config_.path, images_name));
    DETOL_ASSIGN(const Array answers, open_array(**file_, config_.path, labels_name));
    const auto layout = layout_of(images.sizes, images.is_of_bytes, config_);
    if (!layout) return images.error(layout.error(), "or write it otherwise");
    const auto outputs = answers_in(answers.sizes, images.sizes[0], config_.task);
    if (!outputs) return answers.error(outputs.error(), "write one number for each");
    Samples samples{.shape = layout->shape, .has_bytes = layout->has_bytes, .outputs = *outputs};
    if (has_labels(config_.task)) {
      DETOL_ASSIGN(samples.labels, read_labels(answers));
    } else {
      DETOL_ASSIGN(samples.targets, read_targets(answers, *outputs, config_.task));
    }
    samples.fingerprint = fingerprint_of(samples);
    samples.pixels = std::make_unique<Hdf5Pixels>(file_, std::move(images), answers.place, *layout);
    return samples;
  }

 private:
  const DataConfig& config_;
  std::shared_ptr<Handle> file_;
};

Result<Found> open_hdf5(const DataConfig& config) {
  DETOL_TRY(check_regular_file(config.path));
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // its errors are told in our words
  auto file =
      std::make_shared<Handle>(H5Fopen(config.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file->is_open()) {
    return fail(ErrorCode::kInput, config.path +
                                       ": no HDF5 file, or cut or damaged; name another "
                                       "with data.path or --data");
  }
  Hdf5Box box(config, std::move(file));
  return open_arrays(config, box);
}

constexpr std::array kRow{FormatRow{"hdf5", "arrays of one HDF5 file", load_found<open_hdf5>,
                                    inspect_found<open_hdf5>, true}};

}  // namespace

std::span<const FormatRow> hdf5_formats() {
  return kRow;
}

}  // namespace detol
