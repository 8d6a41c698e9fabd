#include "trainer/data/formats/inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/file.h"
#include "core/log.h"
#include "trainer/data/formats/picture.h"
#include "trainer/data/formats/picture_folder.h"
#include "trainer/data/formats/picture_survey.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

class PictureInputs final : public InputReader {
 public:
  // `root`: what the names begin behind.
  PictureInputs(std::vector<fs::path> files, fs::path root, const Preprocessing& data)
      : files_(std::move(files)),
        root_(std::move(root)),
        shape_(data.task.input),
        decoders_(data.pictures.value_or(
            PictureForm{.size = 0, .channels = static_cast<int>(shape_.channels)})) {}

  Result<Inputs> next(std::int64_t most) override {
    Inputs inputs;
    const std::size_t count = std::min(static_cast<std::size_t>(most), files_.size() - read_);
    std::vector<std::string> files(count);
    for (std::size_t i = 0; i < count; ++i) {
      const fs::path& path = files_[read_ + i];
      DETOL_ASSIGN(files[i], read_file(path, kLargestPictureFile));
      inputs.names.push_back(path.lexically_relative(root_).string());
    }
    inputs.data.images.resize(count * static_cast<std::size_t>(shape_.elements()));
    const auto failure = decoders_.decode(files, shape_, inputs.data.images);
    if (failure) return picture_error(files_[read_ + failure->file], failure->error.what);
    read_ += count;
    return inputs;
  }

 private:
  const std::vector<fs::path> files_;
  const fs::path root_;
  const Shape shape_;
  PictureDecoders decoders_;
  std::size_t read_ = 0;
};

Result<std::vector<fs::path>> pictures_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::vector<std::string> others;
  std::error_code error, ignored;
  const auto options = fs::directory_options::follow_directory_symlink;
  fs::recursive_directory_iterator at(folder, options, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.') || !at->is_regular_file(ignored)) continue;
    if (is_picture(name))
      files.push_back(at->path());
    else
      others.push_back(at->path().string());
  }
  if (error)
    return fail(ErrorCode::kInput, fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty())
    return fail(ErrorCode::kInput, folder.string() + ": no .jpg, .jpeg or .png file is inside");
  std::ranges::sort(files);
  std::ranges::sort(others);
  if (!others.empty()) log_info("{}: {}", folder.string(), passed_over_text(others));
  return files;
}

// Fills in what inputs do not say themselves.
class WithTask final : public InputReader {
 public:
  WithTask(std::unique_ptr<InputReader> reader, const Preprocessing& data)
      : reader_(std::move(reader)), data_(data) {}

  Result<Inputs> next(std::int64_t most) override {
    DETOL_ASSIGN(Inputs inputs, reader_->next(most));
    Dataset& made = inputs.data;
    made.info.task = data_.task;
    made.info.training = inputs.count();
    made.table = data_.table;
    made.mean = data_.mean;
    made.deviation = data_.deviation;
    return inputs;
  }

 private:
  std::unique_ptr<InputReader> reader_;
  const Preprocessing data_;
};

Result<std::unique_ptr<InputReader>> open_kind(const fs::path& path, bool is_picture,
                                               const Preprocessing& data) {
  std::error_code ignored;
  const bool takes_pictures =
      data.has_bytes && (data.task.input.channels == 1 || data.task.input.channels == 3);
  if (fs::is_directory(path, ignored)) {
    if (data.table) return fail(ErrorCode::kInput, path.string() + ": a folder; name a CSV file");
    if (!takes_pictures)
      return fail(ErrorCode::kInput, path.string() + ": a folder; name a .npy file");
    DETOL_ASSIGN(auto files, pictures_in(path));
    return std::make_unique<PictureInputs>(std::move(files), path, data);
  }
  if (data.table) return open_csv_inputs(path, data);
  if (takes_pictures && is_picture)
    return std::make_unique<PictureInputs>(std::vector{path}, path.parent_path(), data);
  return open_array_inputs(path, data);
}

}  // namespace

Result<std::unique_ptr<InputReader>> open_inputs(const fs::path& path, const Preprocessing& data) {
  return open_inputs(path, is_picture(path.filename().string()), data);
}

Result<std::unique_ptr<InputReader>> open_inputs(const fs::path& path, bool is_picture,
                                                 const Preprocessing& data) {
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(ErrorCode::kInput, path.string() + ": there is no such file or folder");
  DETOL_ASSIGN(auto reader, open_kind(path, is_picture, data));
  return std::make_unique<WithTask>(std::move(reader), data);
}

}  // namespace detol::inline trainer
