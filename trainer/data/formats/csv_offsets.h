#pragma once

// The offsets of a CSV file's columns (trainer/data/offsets.h), found while its cells are counted.
// Private to this folder.

#include <span>

#include "encodings/study/study_config.h"
#include "trainer/data/offsets.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {

// ColumnOffsets: the numbers of a column, in each way that its cells may be read.
struct ColumnOffsets {
  OffsetFinder numbers = {}, days_month_first = {}, days_day_first = {};
};

// Fills the offsets of inputs and, of a regression, of targets. REQUIRES: one for each column.
void fill_offsets(TableLook& look, std::span<const ColumnOffsets> found, const DataConfig& config);

}  // namespace detol::inline trainer
