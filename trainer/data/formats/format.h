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
  // The statistics of targets and the task's kind are set later.
  Result<Dataset> (*load)(const DataConfig& config);
  Result<DatasetInfo> (*inspect)(const DataConfig& config);
  bool reads_targets = false;  // also of tasks without labels: it fills `targets`
};

}  // namespace detol::inline trainer
