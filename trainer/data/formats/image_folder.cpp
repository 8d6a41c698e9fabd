#include "trainer/data/formats/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/file.h"
#include "trainer/data/formats/picture.h"
#include "trainer/data/formats/picture_folder.h"
#include "trainer/data/formats/picture_survey.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

// Returns the range of the sides of all pictures whose headers can be read: "5 to 60".
std::string range_of_sides(const std::vector<fs::path>& files) {
  PictureDecoder decoder(PictureForm{});
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const fs::path& path : files) {
    const auto file = read_file(path, kLargestPictureFile);
    const auto shape = file ? decoder.shape_of(bytes_in(*file)) : tl::unexpected(std::string());
    if (!shape) continue;
    least = std::min({least, shape->height, shape->width});
    most = std::max({most, shape->height, shape->width});
  }
  return fmt::format("{} to {}", least, most);
}

class FolderPixels final : public PixelSource {
 public:
  FolderPixels(std::vector<fs::path> files, const Shape& shape, const DataConfig& config)
      : files_(std::move(files)), shape_(shape), decoders_(form_of(config)) {}

  Result<void> read(std::span<std::byte> out) override {
    const std::size_t count = out.size() / static_cast<std::size_t>(shape_.elements());
    std::vector<std::string> files(count);
    for (std::size_t i = 0; i < count; ++i) {
      DETOL_ASSIGN(files[i], read_file(files_[at_ + i], kLargestPictureFile));
    }
    const auto failure =
        decoders_.decode(files, shape_, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    if (failure) return decode_error(files_[at_ + failure->file], failure->error);
    at_ += count;
    return {};
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    return picture_error(files_[sample].parent_path(), what);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return picture_error(files_.front(), what);
  }

 private:
  tl::unexpected<Error> decode_error(const fs::path& path, const PictureError& error) const {
    if (!error.has_other_size) return picture_error(path, error.what);
    return fail(ErrorCode::kInput,
                fmt::format("{}: {}; the sides of all have {} pixels; {}", path.string(),
                            error.what, range_of_sides(files_), kSayASize));
  }

  std::vector<fs::path> files_;
  Shape shape_;
  PictureDecoders decoders_;
  std::size_t at_ = 0;  // the next file
};

Result<Samples> samples_of(PictureFiles files, const DataConfig& config) {
  DETOL_ASSIGN(const std::string first, read_file(files.paths.front(), kLargestPictureFile));
  const auto shape = PictureDecoder(form_of(config)).shape_of(bytes_in(first));
  if (!shape) return picture_error(files.paths.front(), shape.error());
  const std::uint64_t fingerprint = fingerprint_of(files.labels, *shape);
  std::vector<std::string> others, remarks;
  for (const fs::path& path : files.passed_over) others.push_back(path.string());
  if (!others.empty())
    remarks.push_back(passed_over_text(others) + ": pictures are .jpg, .jpeg and .png files");
  return Samples{.shape = *shape,
                 .labels = std::move(files.labels),
                 .fingerprint = fingerprint,
                 .pixels = std::make_unique<FolderPixels>(std::move(files.paths), *shape, config),
                 .remarks = std::move(remarks)};
}

}  // namespace

Result<Found> open_image_folder(const DataConfig& config) {
  DETOL_ASSIGN(PictureFolder folder, list_pictures(config.path));
  Found found;
  found.class_names = std::move(folder.class_names);
  found.pictures = form_of(config);
  DETOL_ASSIGN(found.training, samples_of(std::move(folder.training), config));
  if (folder.validation) {
    DETOL_ASSIGN(found.validation, samples_of(std::move(*folder.validation), config));
  }
  if (folder.test) {
    DETOL_ASSIGN(found.test, samples_of(std::move(*folder.test), config));
  }
  return found;
}

}  // namespace detol::inline trainer
