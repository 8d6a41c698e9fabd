#include "trainer/data/formats/new_categories.h"

#include <fmt/format.h>

#include "core/table.h"

namespace detol::inline trainer {

void NewCategories::see(const TableColumn& column, std::string_view text, std::int64_t cells) {
  if (column.pools_rare || cells == 0) return;
  const auto [seen, is_first] = seen_.try_emplace(column.name);
  if (is_first) seen->second.first = text;
  seen->second.cells += cells;
}

std::vector<std::string> NewCategories::remarks(std::int64_t records) const {
  std::vector<std::string> remarks;
  for (const auto& [name, seen] : seen_)
    remarks.push_back(fmt::format(
        "column {}: {} of {} records have a value that the records to train on do not have ({}); "
        "it is taken for none of their categories",
        in_quotes(name), seen.cells, records,
        seen.first.empty() ? "an empty cell" : "the first is " + in_quotes(seen.first)));
  return remarks;
}

}  // namespace detol::inline trainer
