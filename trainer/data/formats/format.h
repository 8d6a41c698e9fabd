#pragma once

// Format is one file format of data sets.

#include <string_view>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

struct FormatRow {
  std::string_view name;  // data.format
  std::string_view summary;
  // Neither sets the statistics of targets nor the task's kind; load_dataset() does.
  Result<Dataset> (*load)(const DataConfig& config);
  Result<DatasetInfo> (*inspect)(const DataConfig& config);
  bool reads_targets = false;  // also for tasks without labels: fills `targets`
};

}  // namespace detol::inline trainer
