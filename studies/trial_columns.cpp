#include "studies/trial_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "studies/final_choice.h"
#include "studies/model_rows.h"

namespace detol::inline studies {
namespace {

bool has_any(const std::vector<Cell>& cells) {
  return std::ranges::any_of(cells, [](const Cell& cell) { return cell != Cell(); });
}

// Returns a list in JSON, and else one text.
Cell tags_cell(const Labels& labels, Format format) {
  if (format == Format::kJson || format == Format::kJsonl)
    return compact(nlohmann::json(labels.tags));
  if (labels.tags.empty()) return {};
  return compact(nlohmann::json(fmt::format("{}", fmt::join(labels.tags, " "))));
}

}  // namespace

void insert_column(std::string_view name, std::string_view behind, std::vector<Cell> cells,
                   Rows& rows) {
  const auto at = std::ranges::find(rows.columns, behind) - rows.columns.begin() + 1;
  rows.columns.emplace(rows.columns.begin() + at, name);
  for (std::size_t i = 0; i < cells.size(); ++i)
    rows.rows[i].insert(rows.rows[i].begin() + at, std::move(cells[i]));
}

Result<Rows> rows_of(const OpenStudy& study, const std::vector<TrialSummary>& trials) {
  std::vector<TrialId> ids;
  for (const TrialSummary& one : trials) ids.push_back(one.id);
  DETOL_ASSIGN(Rows rows, trial_rows(study, {.among = ids}));
  std::map<TrialId, std::size_t> places;
  for (std::size_t row = 0; row < rows.rows.size(); ++row) places.emplace(trial_of(rows, row), row);
  Rows ordered{.columns = rows.columns, .rows = {}};
  for (const TrialId id : ids) {
    if (places.contains(id)) ordered.rows.push_back(std::move(rows.rows[places.at(id)]));
  }
  return ordered;
}

Result<void> add_architecture(const OpenStudy& study, Rows& trials) {
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  std::vector<Cell> cells;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    DETOL_ASSIGN(const TrialSummary trial, trial_in(trials, row));
    DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
    cells.emplace_back(config.architecture_json(genome));
  }
  insert_column("architecture", "params", std::move(cells), trials);
  return {};
}

Result<void> add_test_scores(const OpenStudy& study, Rows& trials) {
  DETOL_ASSIGN(const auto models, models_of(study));
  std::vector<Cell> scores, intervals;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    const event::Model* known =
        tested(models, trial_of(trials, row), cell_number(cell(trials, row, "best_epoch"), 0));
    scores.push_back(known != nullptr ? Cell(test_json(*known)) : Cell());
    intervals.push_back(known != nullptr ? Cell(interval_json(*known)) : Cell());
  }
  if (!has_any(scores)) return {};
  insert_column("test_interval", "values", std::move(intervals), trials);
  insert_column("test", "values", std::move(scores), trials);
  return {};
}

Result<void> add_cross_validation(const OpenStudy& study, Rows& trials) {
  DETOL_ASSIGN(const auto models, models_of(study));
  std::vector<Cell> cells;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    const event::Model* found = cross_validated(models, trial_of(trials, row));
    cells.push_back(found != nullptr ? Cell(values_json(*found)) : Cell());
  }
  if (has_any(cells)) insert_column("cross_validation", "values", std::move(cells), trials);
  return {};
}

void add_label_columns(const std::vector<Labels>& labels, Format format, Rows& rows) {
  const bool shows_empty = format != Format::kTable || rows.rows.size() == 1;
  std::vector<Cell> tags, notes;
  for (const Labels& one : labels) {
    tags.push_back(tags_cell(one, format));
    notes.push_back(one.note.empty() ? Cell() : Cell(one.note));
  }
  const auto add = [&](std::string_view name, std::vector<Cell>& cells) {
    if (shows_empty || has_any(cells))
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

}  // namespace detol::inline studies
