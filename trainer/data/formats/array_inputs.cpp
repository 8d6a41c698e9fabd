#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/idx.h"
#include "trainer/data/formats/inputs.h"
#include "trainer/data/formats/npy.h"

namespace detol::inline trainer {
namespace {

constexpr std::array<std::uint8_t, 4> kIdxImages = {0, 0, 8, 3};

// Layout: how an array holds the network's inputs.
struct ArrayLayout {
  std::int64_t inputs = 0;
  bool is_channels_last = false;
};

// Returns how an array of these sizes holds images of the shape; nullopt: it does not.
std::optional<ArrayLayout> layout_in(std::span<const std::int64_t> sizes, const Shape& shape) {
  const std::vector<std::int64_t> first = {shape.channels, shape.height, shape.width};
  const std::vector<std::int64_t> last = {shape.height, shape.width, shape.channels};
  const std::vector<std::int64_t> plane = {shape.height, shape.width}, row = {shape.elements()};
  const auto holds = [&](std::span<const std::int64_t> one, bool& is_last) {
    is_last = std::ranges::equal(one, last) && shape.channels > 1;
    return std::ranges::equal(one, first) || std::ranges::equal(one, last) ||
           (shape.channels == 1 && std::ranges::equal(one, plane)) ||
           (shape.height * shape.width == 1 && std::ranges::equal(one, row));
  };
  ArrayLayout layout;
  if (sizes.size() > 1 && holds(sizes.subspan(1), layout.is_channels_last)) {
    layout.inputs = sizes[0];
    return layout;
  }
  layout.inputs = 1;
  if (holds(sizes, layout.is_channels_last)) return layout;
  return std::nullopt;
}

class ArrayInputs final : public InputReader {
 public:
  ArrayInputs(PackedFile file, NpyArray array, const ArrayLayout& layout, const Preprocessing& data)
      : file_(std::move(file)), array_(std::move(array)), layout_(layout), data_(data) {}

  Result<Inputs> next(std::int64_t most) override {
    Inputs inputs;
    const std::int64_t count = std::min(most, layout_.inputs - read_);
    const auto elements = static_cast<std::size_t>(data_.task.input.elements());
    raw_.resize(elements * array_.bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      DETOL_TRY(file_.read(raw_));
      if (data_.has_bytes) {
        append<std::uint8_t>(raw_, inputs.data.images);
      } else {
        std::vector<float> values(elements);
        std::vector<double> exact(elements);
        to_doubles(array_, raw_, exact);
        subtract(exact, data_.offsets.inputs, values);
        if (const std::size_t bad = first_not_finite(values); bad < values.size())
          return file_.error_at(file_.offset() - raw_.size() + bad * array_.bytes,
                                fmt::format("{} is not a finite number", values[bad]));
        append<float>(values, inputs.data.values);
      }
      inputs.names.push_back(std::to_string(++read_));
    }
    if (read_ == layout_.inputs) DETOL_TRY(file_.expect_end());
    return inputs;
  }

 private:
  template <typename Pixel>
  void append(std::span<const Pixel> one, std::vector<Pixel>& all) const {
    all.resize(all.size() + one.size());
    const std::span<Pixel> out = std::span(all).last(one.size());
    if (layout_.is_channels_last) return to_planes(one, data_.task.input, out);
    std::ranges::copy(one, out.begin());
  }

  PackedFile file_;
  const NpyArray array_;
  const ArrayLayout layout_;
  const Preprocessing data_;
  std::int64_t read_ = 0;
  std::vector<std::uint8_t> raw_;
};

Result<bool> is_idx(const std::filesystem::path& path) {
  DETOL_ASSIGN(PackedFile file, PackedFile::open(path));
  std::array<std::uint8_t, 4> magic{};
  DETOL_TRY(file.read(magic));
  return magic == kIdxImages;
}

// Reads the header of either kind of file.
Result<NpyArray> header_of(PackedFile& file, bool is_idx) {
  if (!is_idx) return read_npy_header(file);
  NpyArray array;
  DETOL_ASSIGN(array.sizes, read_idx_sizes(file, 3));
  array.start = file.offset();
  return array;
}

}  // namespace

Result<std::unique_ptr<InputReader>> open_array_inputs(const std::filesystem::path& path,
                                                       const Preprocessing& data) {
  DETOL_ASSIGN(const bool idx, is_idx(path));
  DETOL_ASSIGN(PackedFile file, PackedFile::open(path));
  DETOL_ASSIGN(NpyArray array, header_of(file, idx));
  const auto layout = layout_in(array.sizes, data.task.input);
  if (!layout)
    return file.error_at(0, fmt::format("an array of {}; the network reads images of {}",
                                        fmt::join(array.sizes, " x "), to_text(data.task.input)));
  if (data.has_bytes && !array.is_of_bytes())
    return file.error_at(0, "not of bytes (uint8), as the pixels to train on were");
  return std::make_unique<ArrayInputs>(std::move(file), std::move(array), *layout, data);
}

}  // namespace detol::inline trainer
