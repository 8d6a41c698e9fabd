#include "trainer/data/formats/formats.h"

#include <fmt/format.h>

#include <array>
#include <new>

#include "core/hash.h"
#include "core/table.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/formats/cifar.h"
#include "trainer/data/formats/csv_data.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/hdf5_data.h"
#include "trainer/data/formats/idx.h"
#include "trainer/data/formats/image_folder.h"
#include "trainer/data/formats/npy_data.h"
#include "trainer/data/formats/packed.h"
#include "trainer/data/formats/webdataset.h"
#include "trainer/data/samples.h"
#include "trainer/data/statistics.h"

namespace detol::inline trainer {
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

// Sets the task of the space file, if the data fit it.
Result<void> set_task(DatasetInfo& info, const DataConfig& config) {
  if (info.task.kind == config.task) return {};  // the usual case, and that of packed data
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

// Says how unequal the classes to train on are, where a metric such as accuracy hides it.
void remark_on_classes(DatasetInfo& info) {
  constexpr std::int64_t kOdd = 10;  // times as many
  if (!info.sample || info.sample->in_class.size() < 2) return;
  const auto [least, most] = std::ranges::minmax(info.sample->in_class);
  if (most < kOdd * least) return;
  info.remarks.push_back(
      fmt::format("of {} samples to train on {} are of the most frequent class, {} of the rarest",
                  info.training, most, least));
}

}  // namespace

std::span<const FormatRow> formats() {
  static const std::vector<FormatRow> kAll = [] {
    std::vector<FormatRow> rows(kFormats.begin(), kFormats.end());
    rows.insert(rows.end(), hdf5_formats().begin(), hdf5_formats().end());
    return rows;
  }();
  return kAll;
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
    remark_on_classes(info);
    return info;
  });
}

}  // namespace detol::inline trainer
