#include "trainer/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/cifar.h"
#include "trainer/data/csv_data.h"
#include "trainer/data/hdf5_data.h"
#include "trainer/data/idx.h"
#include "trainer/data/image_folder.h"
#include "trainer/data/npy_data.h"
#include "trainer/data/packed.h"
#include "trainer/data/samples.h"
#include "trainer/data/statistics.h"
#include "trainer/data/webdataset.h"

namespace detol {
namespace {

constexpr std::array kFormats{
    FormatRow{"idx", "a folder of MNIST's IDX files, plain or gzip", load_found<open_idx>,
              inspect_found<open_idx>},
    FormatRow{"cifar", "a folder of CIFAR-10's or CIFAR-100's binary files", load_found<open_cifar>,
              inspect_found<open_cifar>},
    FormatRow{"npy", "NumPy's arrays: a folder of .npy files, or one .npz", load_found<open_npy>,
              inspect_found<open_npy>, true},
    FormatRow{"image_folder", "folders of JPEG and PNG files, one for each class",
              load_found<open_image_folder>, inspect_found<open_image_folder>},
    FormatRow{"webdataset", "tar files of pictures and their labels", load_found<open_webdataset>,
              inspect_found<open_webdataset>},
    FormatRow{"csv", "a table or sequences, one record per line, plain or gzip", load_csv,
              inspect_csv, true},
    FormatRow{"packed", "a file of `detol data pack`, read once per machine", load_packed,
              inspect_packed, true},
};

Result<const FormatRow*> format_of(const DataConfig& config) {
  DETOL_TRY(find_data(config.path, config.source));
  const FormatRow* row = find_row(formats(), config.format);
  if (row == nullptr)
    return fail(ErrorCode::kInput, unknown_name("data.format", config.format, names_of(formats())));
  if (row->reads_targets || has_labels(config.task)) return row;
  return fail(ErrorCode::kInput,
              fmt::format("data.task {}: the format {} has class labels alone; accepted: {}",
                          row_of(config.task).name, row->name,
                          join(std::array{row_of(TaskKind::kClassification).name,
                                          row_of(TaskKind::kBinary).name})));
}

template <typename Do>
auto within_memory(const DataConfig& config, const Do& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInput, config.path + ": not enough memory for these data");
  }
}

template <typename Pixel>
std::span<const Pixel> pixels_of(const DatasetInfo& info, const MappedPixels& mapped,
                                 std::span<const Pixel> owned, std::int64_t index) {
  const auto size = static_cast<std::size_t>(info.task.input.elements());
  const auto at = static_cast<std::size_t>(index);
  if (!mapped.blocks) return owned.subspan(at * size, size);
  const std::byte* block = mapped.blocks.get() + at / mapped.block_images * mapped.block_bytes;
  return {reinterpret_cast<const Pixel*>(block) + at % mapped.block_images * size, size};
}

// What the file asks of data that the format read.
Result<void> set_task(DatasetInfo& info, const DataConfig& config) {
  if (info.task.kind == config.task) return {};  // as usual, or as the data were packed
  info.task.kind = config.task;
  info.fingerprint = hash_combine(info.fingerprint, hash64(row_of(config.task).name));
  if (config.task != TaskKind::kBinary) return {};
  if (info.task.classes != 2) {
    return fail(ErrorCode::kInput,
                fmt::format("{}: {} classes, but data.task binary has two; leave data.task out",
                            config.path, info.task.classes));
  }
  info.task.classes = 1;
  return {};
}

}  // namespace

void Dataset::write_answer(std::int64_t image, std::size_t to, const Answers& answers) const {
  const auto from = static_cast<std::size_t>(image);
  if (!labels.empty()) answers.labels[to] = labels[from];
  if (answers.targets.empty()) return;
  const auto outputs = static_cast<std::size_t>(info.task.classes);
  const auto out = answers.targets.subspan(to * outputs, outputs);
  for (std::size_t k = 0; k < outputs; ++k) {
    if (!labels.empty()) {
      out[k] = static_cast<float>(labels[from]);
    } else if (target_mean.empty()) {
      out[k] = targets[from * outputs + k];
    } else {
      out[k] = (targets[from * outputs + k] - target_mean[k]) / target_deviation[k];
    }
  }
}

std::span<const std::uint8_t> Dataset::image(std::int64_t index) const {
  return pixels_of(info, mapped, std::span(images), index);
}

std::span<const float> Dataset::values_of(std::int64_t index) const {
  return pixels_of(info, mapped, std::span(values), index);
}

Range range_of(const DatasetInfo& info, Part part) {
  switch (part) {
    case Part::kTraining:
      return {0, info.training};
    case Part::kValidation:
      return {info.training, info.validation};
    case Part::kTest:
      break;
  }
  return {info.training + info.validation, info.test};
}

std::span<const FormatRow> formats() {
  static const std::vector<FormatRow> kAll = [] {
    std::vector<FormatRow> rows(kFormats.begin(), kFormats.end());
    rows.insert(rows.end(), hdf5_formats().begin(), hdf5_formats().end());
    return rows;
  }();
  return kAll;
}

Result<void> find_data(const std::string& path, const std::string& source) {
  std::error_code ignored;
  const bool is_there = !path.empty() && std::filesystem::exists(path, ignored);
  if (is_there || (source.empty() && !path.empty())) return {};
  const std::string what = path.empty() ? "no path is given" : path + ": there is nothing";
  std::string where = source;
  std::ranges::replace(where, '\n', ' ');
  return fail(ErrorCode::kInput,
              fmt::format("{}; say where the data is with --data PATH: {}", what, where));
}

Result<Dataset> load_dataset(const DataConfig& config) {
  DETOL_ASSIGN(const FormatRow* format, format_of(config));
  return within_memory(config, [&]() -> Result<Dataset> {
    DETOL_ASSIGN(Dataset dataset, format->load(config));
    DETOL_TRY(set_task(dataset.info, config));
    if (config.task == TaskKind::kRegression) {
      DETOL_TRY(fill_target_statistics(dataset, config.path));
    }
    return dataset;
  });
}

Result<DatasetInfo> inspect_dataset(const DataConfig& config) {
  DETOL_ASSIGN(const FormatRow* format, format_of(config));
  return within_memory(config, [&]() -> Result<DatasetInfo> {
    DETOL_ASSIGN(DatasetInfo info, format->inspect(config));
    DETOL_TRY(set_task(info, config));
    return info;
  });
}

}  // namespace detol
