#include "cli/trial_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "studies/final_choice.h"
#include "studies/model_rows.h"

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
  const auto at = std::ranges::find(trials.columns, "params") - trials.columns.begin() + 1;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    DETOL_ASSIGN(const TrialSummary trial, trial_in(trials, row));
    DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
    trials.rows[row].insert(trials.rows[row].begin() + at, Cell(config.architecture_json(genome)));
  }
  trials.columns.insert(trials.columns.begin() + at, "architecture");
  return {};
}

Result<void> add_test_scores(const OpenStudy& study, Rows& trials) {
  DETOL_ASSIGN(const auto models, models_of(study));
  std::vector<const event::Model*> known;
  for (std::size_t row = 0; row < trials.rows.size(); ++row)
    known.push_back(
        tested(models, trial_of(trials, row), cell_number(cell(trials, row, "best_epoch"), 0)));
  if (std::ranges::all_of(known, [](const auto* model) { return model == nullptr; })) return {};
  const auto at = std::ranges::find(trials.columns, "values") - trials.columns.begin() + 1;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    std::vector<Cell> cells(2);
    if (known[row] != nullptr) cells = {test_json(*known[row]), interval_json(*known[row])};
    auto& own = trials.rows[row];
    own.insert(own.begin() + at, cells.begin(), cells.end());
  }
  trials.columns.insert(trials.columns.begin() + at, {"test", "test_interval"});
  return {};
}

Result<void> add_cross_validation(const OpenStudy& study, Rows& trials) {
  DETOL_ASSIGN(const auto models, models_of(study));
  const auto values = std::ranges::find(trials.columns, "values");
  const auto at = values - trials.columns.begin() + 1;
  bool has_any = false;
  std::vector<Cell> cells;
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    const auto trial = trial_of(trials, row);
    const event::Model* found = cross_validated(models, trial);
    has_any = has_any || found != nullptr;
    cells.push_back(found != nullptr ? Cell(values_json(*found)) : Cell());
  }
  if (!has_any) return {};
  trials.columns.insert(trials.columns.begin() + at, "cross_validation");
  for (std::size_t row = 0; row < trials.rows.size(); ++row)
    trials.rows[row].insert(trials.rows[row].begin() + at, std::move(cells[row]));
  return {};
}

void add_numbers(const std::string& name, const std::vector<double>& numbers, Rows& trials) {
  const auto at = std::ranges::find(trials.columns, "values") - trials.columns.begin() + 1;
  trials.columns.insert(trials.columns.begin() + at, name);
  for (std::size_t row = 0; row < numbers.size(); ++row)
    trials.rows[row].insert(trials.rows[row].begin() + at, Cell(numbers[row]));
}

}  // namespace detol::inline cli
