#include "trainer/data/formats/csv_offsets.h"

namespace detol::inline trainer {
namespace {

const OffsetFinder& finder_of(const ColumnLook& column, const ColumnOffsets& found) {
  if (column.kind == ColumnKind::kNumber) return found.numbers;
  return column.is_day_first ? found.days_day_first : found.days_month_first;
}

}  // namespace

// The numbers of a sequence are of one channel, which has one offset.
void fill_offsets(TableLook& look, std::span<const ColumnOffsets> found, const DataConfig& config) {
  OffsetFinder sequence;
  for (const std::size_t i : columns_used(look, ColumnUse::kInput)) sequence.add(found[i].numbers);
  for (std::size_t i = 0; i < look.columns.size(); ++i) {
    ColumnLook& column = look.columns[i];
    const bool is_input = column.use == ColumnUse::kInput;
    const bool is_target = column.use == ColumnUse::kLabel && config.task == TaskKind::kRegression;
    if (column.kind == ColumnKind::kCategory || !(is_input || is_target)) continue;
    const bool is_of_sequence = config.sequence && is_input;
    column.offset = (is_of_sequence ? sequence : finder_of(column, found[i])).offset();
  }
}

}  // namespace detol::inline trainer
