#include "trainer/data/formats/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/file.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/picture.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = std::size_t{1} << 28;

tl::unexpected<Error> file_error(const fs::path& path, std::string_view what) {
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}; mend the file or take it away", path.string(), what));
}

class FolderPixels final : public PixelSource {
 public:
  FolderPixels(std::vector<fs::path> files, const Shape& shape, const DataConfig& config)
      : files_(std::move(files)), shape_(shape), decoders_(config.size, config.channels) {}

  Result<void> read(std::span<std::byte> out) override {
    const std::size_t count = out.size() / static_cast<std::size_t>(shape_.elements());
    std::vector<std::string> files(count);
    for (std::size_t i = 0; i < count; ++i) {
      DETOL_ASSIGN(files[i], read_file(files_[at_ + i], kLargestFile));
    }
    const auto failure =
        decoders_.decode(files, shape_, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    if (failure) return file_error(files_[at_ + failure->file], failure->what);
    at_ += count;
    return {};
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    return file_error(files_[sample].parent_path(), what);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return file_error(files_.front(), what);
  }

 private:
  std::vector<fs::path> files_;
  Shape shape_;
  PictureDecoders decoders_;
  std::size_t at_ = 0;  // the next file
};

// Returns the wanted entries of a folder, by name.
template <typename Wanted>
Result<std::vector<fs::path>> sorted(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && wanted(*at)) paths.push_back(at->path());
  }
  if (error)
    return fail(ErrorCode::kInput, fmt::format("{}: {}; name another folder with data.path or "
                                               "--data",
                                               folder.string(), error.message()));
  std::ranges::sort(paths);
  return paths;
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

Result<std::vector<std::string>> classes_in(const fs::path& folder) {
  DETOL_ASSIGN(const auto folders, sorted(folder, is_folder));
  std::vector<std::string> names;
  for (const fs::path& one : folders) {
    names.push_back(one.filename().string());
    if (is_utf8(names.back())) continue;
    return fail(ErrorCode::kInput,
                fmt::format("{}: the folder's name {}, a class, is not UTF-8; rename it",
                            folder.string(), in_quotes(names.back())));
  }
  if (names.size() >= 2) return names;
  return fail(ErrorCode::kInput,
              fmt::format("{}: {} folders of classes; there must be one for each class, at least "
                          "two",
                          folder.string(), names.size()));
}

struct Files {
  std::vector<fs::path> paths;
  std::vector<std::int32_t> labels;
};

Result<Files> pictures_in(const fs::path& folder, const std::vector<std::string>& classes) {
  DETOL_ASSIGN(const auto folders, sorted(folder, is_folder));
  Files files;
  for (const fs::path& one : folders) {
    const auto name = std::ranges::find(classes, one.filename().string());
    if (name == classes.end()) return file_error(one, "no class of this name is trained on");
    DETOL_ASSIGN(const auto pictures, sorted(one, [](const fs::directory_entry& entry) {
                   return is_picture(entry.path().filename().string()) && !is_folder(entry);
                 }));
    if (pictures.empty())
      return file_error(one, "the class has no image: there is no .jpg, .jpeg or .png");
    files.paths.insert(files.paths.end(), pictures.begin(), pictures.end());
    files.labels.resize(files.paths.size(), static_cast<std::int32_t>(name - classes.begin()));
  }
  if (!files.paths.empty()) return files;
  return file_error(folder, "there is no folder of a class");
}

Result<Samples> samples_in(const fs::path& folder, const std::vector<std::string>& classes,
                           const DataConfig& config) {
  DETOL_ASSIGN(Files files, pictures_in(folder, classes));
  DETOL_ASSIGN(const std::string first, read_file(files.paths.front(), kLargestFile));
  const auto shape = PictureDecoder(config.size, config.channels).shape_of(bytes_in(first));
  if (!shape) return file_error(files.paths.front(), shape.error());
  const std::uint64_t fingerprint = fingerprint_of(files.labels, *shape);
  return Samples{.shape = *shape,
                 .labels = std::move(files.labels),
                 .fingerprint = fingerprint,
                 .pixels = std::make_unique<FolderPixels>(std::move(files.paths), *shape, config)};
}

}  // namespace

Result<Found> open_image_folder(const DataConfig& config) {
  const fs::path root = config.path;
  DETOL_TRY(check_folder(root, "image", "train/CLASS/*.jpg"));
  const auto has = [&](std::string_view name) {
    std::error_code ignored;
    return fs::is_directory(root / name, ignored);
  };
  const bool has_parts = has("train");
  const fs::path training = has_parts ? root / "train" : root;
  Found found;
  DETOL_ASSIGN(found.class_names, classes_in(training));
  DETOL_ASSIGN(found.training, samples_in(training, found.class_names, config));
  if (has_parts && has("val")) {
    DETOL_ASSIGN(found.validation, samples_in(root / "val", found.class_names, config));
  }
  if (has_parts && has("test")) {
    DETOL_ASSIGN(found.test, samples_in(root / "test", found.class_names, config));
  }
  return found;
}

}  // namespace detol::inline trainer
