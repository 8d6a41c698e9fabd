#include "trainer/data/formats/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "core/hash.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/packed_file.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLabelsStart = 8;  // after magic number and size

class IdxPixels final : public PixelSource {
 public:
  IdxPixels(PackedFile images, PackedFile labels, std::uint64_t end)
      : images_(std::move(images)), labels_(std::move(labels)), end_(end) {}

  Result<void> read(std::span<std::byte> out) override {
    DETOL_TRY(images_.read({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
    if (images_.offset() < end_) return {};
    return images_.expect_end();
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    return labels_.error_at(kLabelsStart + sample, what);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return images_.error_at(8, what);
  }

 private:
  PackedFile images_;
  PackedFile labels_;
  std::uint64_t end_;  // end of the images by their header
};

Result<PackedFile> open_one(const fs::path& folder, std::string_view half, std::string_view what,
                            int dimensions) {
  for (std::string_view separator : {"-", "."}) {
    const auto path =
        find_packed(folder, fmt::format("{}-{}{}idx{}-ubyte", half, what, separator, dimensions));
    if (path) return PackedFile::open(*path);  // reports a file that is not readable
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

Result<Samples> open_half(const fs::path& folder, std::string_view half) {
  DETOL_ASSIGN(PackedFile labels_file, open_one(folder, half, "labels", 1));
  DETOL_ASSIGN(const std::vector<std::int64_t> labels_size, read_idx_sizes(labels_file, 1));
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(labels_size[0]));
  DETOL_TRY(labels_file.read(labels));
  DETOL_TRY(labels_file.expect_end());

  DETOL_ASSIGN(PackedFile images, open_one(folder, half, "images", 3));
  DETOL_ASSIGN(const std::vector<std::int64_t> sizes, read_idx_sizes(images, 3));
  if (sizes[0] != labels_size[0]) {
    return images.error_at(4, fmt::format("{} images, but {} has {} labels", sizes[0],
                                          labels_file.path().string(), labels_size[0]));
  }
  std::uint64_t fingerprint = hash64(std::as_bytes(std::span(labels)));
  for (std::int64_t size : sizes) {
    fingerprint = hash_combine(fingerprint, static_cast<std::uint64_t>(size));
  }
  const auto pixels = static_cast<std::uint64_t>(sizes[0] * sizes[1] * sizes[2]);
  const std::uint64_t end = images.offset() + pixels;
  return Samples{
      .shape = {1, sizes[1], sizes[2]},
      .labels = {labels.begin(), labels.end()},
      .fingerprint = fingerprint,
      .pixels = std::make_unique<IdxPixels>(std::move(images), std::move(labels_file), end)};
}

}  // namespace

Result<std::vector<std::int64_t>> read_idx_sizes(PackedFile& file, int dimensions) {
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

Result<Found> open_idx(const DataConfig& config) {
  DETOL_TRY(check_folder(config.path, "IDX", "Fashion-MNIST: apt install dataset-fashion-mnist"));
  DETOL_ASSIGN(Samples training, open_half(config.path, "train"));
  DETOL_ASSIGN(Samples test, open_half(config.path, "t10k"));
  return Found{.training = std::move(training), .test = std::move(test)};
}

}  // namespace detol::inline trainer
