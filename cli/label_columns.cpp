#include "cli/label_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"

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
  if (shows_empty || std::ranges::any_of(labels, [](const Labels& l) { return !l.tags.empty(); })) {
    rows.columns.emplace_back("tags");
    for (std::size_t i = 0; i < labels.size(); ++i)
      rows.rows[i].push_back(tags_cell(labels[i], format));
  }
  if (shows_empty || std::ranges::any_of(labels, [](const Labels& l) { return !l.note.empty(); })) {
    rows.columns.emplace_back("note");
    for (std::size_t i = 0; i < labels.size(); ++i)
      rows.rows[i].push_back(labels[i].note.empty() ? Cell() : Cell(labels[i].note));
  }
}

Result<void> add_labels(const OpenStudy& study, Format format, Rows& trials) {
  DETOL_ASSIGN(const auto labels, labels_of(study, trials));
  add_label_columns(labels, format, trials);
  return {};
}

}  // namespace detol::inline cli
