#pragma once

// The data format `csv`: one record per line, its label in one column, numbers in all others. A
// table's record is an image of as many channels as columns and one pixel; with `sequence` it is
// one channel of one row.

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Loads the data set with mean and deviation: per column of a table, over all values of sequences.
Result<Dataset> load_csv(const DataConfig& config);
Result<DatasetInfo> inspect_csv(const DataConfig& config);

}  // namespace detol::inline trainer
