#include "cli/label_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "studies/trial_columns.h"

namespace detol::inline cli {
namespace {

// Returns a list in JSON, and else one text.
Cell tags_cell(const Labels& labels, Format format) {
  if (format == Format::kJson || format == Format::kJsonl)
    return compact(nlohmann::json(labels.tags));
  if (labels.tags.empty()) return {};
  return compact(nlohmann::json(fmt::format("{}", fmt::join(labels.tags, " "))));
}

}  // namespace

void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows) {
  const bool shows_empty = format != Format::kTable || rows.rows.size() == 1;
  std::vector<Cell> tags, notes;
  for (const Labels& one : labels) {
    tags.push_back(tags_cell(one, format));
    notes.push_back(one.note.empty() ? Cell() : Cell(one.note));
  }
  const auto add = [&](std::string_view name, std::vector<Cell>& cells) {
    const auto says = [](const Cell& cell) { return cell != Cell(); };
    if (shows_empty || std::ranges::any_of(cells, says))
      insert_column(name, rows.columns.back(), std::move(cells), rows);
  };
  add("tags", tags);
  add("note", notes);
}

Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials) {
  DETOL_ASSIGN(const auto labels, labels_of(study, trials));
  add_label_columns(labels, format, trials);
  return {};
}

}  // namespace detol::inline cli
