#pragma once

// What the columns of a table are used for.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/formats/csv.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {

// Returns the columns of data.label; the last one where it is not set.
std::vector<std::string> label_columns(const DataConfig& config);

// Returns whether data.label says a place, first or last.
bool is_place(std::string_view label);

// Sets the use of the look's columns, which have their names, as data.label, data.split.column and
// data.columns say. `first` are the cells of the first line. Errors (kInput, with
// file:line:column): a column that is named is not there, or has two uses; there are too few.
Result<void> choose_columns(const DataConfig& config, const CsvReader& reader,
                            std::span<const CsvCell> first, TableLook& look);

}  // namespace detol::inline trainer
