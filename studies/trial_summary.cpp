#include "studies/trial_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "encodings/network/task.h"
#include "encodings/space/value_json.h"

namespace detol::inline studies {
namespace {

using nlohmann::json;

std::string text_cell(const Rows& rows, std::size_t row, std::string_view column) {
  const auto* text = std::get_if<std::string>(&cell(rows, row, column));
  return text != nullptr ? *text : std::string();
}

tl::unexpected<Error> damaged(TrialId trial, std::string_view what) {
  return fail(ErrorCode::kStorage, fmt::format("trial {}: its {} are damaged", trial, what));
}

Result<void> read_metrics(const Rows& rows, std::size_t row, TrialSummary& trial) {
  const std::string text = text_cell(rows, row, "values");
  if (text.empty()) return {};  // it reported nothing
  const json values = json_or_discarded(text);
  if (!values.is_object()) return damaged(trial.id, "values");
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, written] : values.items())
    trial.metrics.emplace_back(name, number_in_json(written).value_or(kNan));
  return {};
}

Result<void> read_parameters(const Rows& rows, std::size_t row, TrialSummary& trial) {
  const json parameters = json_or_discarded(text_cell(rows, row, "params"));
  if (!parameters.is_object()) return damaged(trial.id, "parameters");
  for (const auto& [name, written] : parameters.items()) {
    if (auto value = value_in_json(written)) trial.parameters.emplace_back(name, *std::move(value));
  }
  return {};
}

}  // namespace

Result<TrialSummary> trial_in(const Rows& rows, std::size_t row) {
  TrialSummary trial{.id = trial_of(rows, row)};
  const auto state = trial_state_from(text_cell(rows, row, "state"));
  if (!state) return damaged(trial.id, "states");
  trial.state = *state;
  trial.value = cell_number(cell(rows, row, "value"));
  trial.epochs = cell_number(cell(rows, row, "epochs"), 0);
  trial.best_epoch = cell_number(cell(rows, row, "best_epoch"), 0);
  trial.flops = cell_number(cell(rows, row, "flops"), 0);
  trial.device_s = cell_number(cell(rows, row, "device_seconds"), 0);
  trial.arch_hash = text_cell(rows, row, "arch_hash");
  trial.failure = text_cell(rows, row, "failure");
  trial.reason = text_cell(rows, row, "reason");
  DETOL_TRY(read_metrics(rows, row, trial));
  DETOL_TRY(read_parameters(rows, row, trial));
  return trial;
}

Result<std::vector<TrialSummary>> trials_of(Reader& reader, const StudyRecord& study,
                                            const TrialFilter& filter) {
  DETOL_ASSIGN(const Rows rows, trial_rows(reader, study, filter));
  std::vector<TrialSummary> trials;
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    DETOL_ASSIGN(TrialSummary trial, trial_in(rows, row));
    trials.push_back(std::move(trial));
  }
  return trials;
}

Result<std::vector<TrialSummary>> finished_trials(const OpenStudy& study,
                                                  std::optional<std::vector<TrialId>> among) {
  DETOL_ASSIGN(auto trials, trials_of(study, {.only_scored = true, .among = std::move(among)}));
  std::erase_if(trials, [](const TrialSummary& one) {
    return one.state != TrialState::kComplete && one.state != TrialState::kPruned;
  });
  if (!trials.empty()) return trials;
  return nothing_reported(study);
}

Result<TrialSummary> trial_numbered(const OpenStudy& study, TrialId id) {
  DETOL_ASSIGN(auto trials, trials_of(study, {.among = {{id}}}));
  if (!trials.empty()) return std::move(trials.front());
  return fail(ErrorCode::kEmpty, fmt::format("study {} has no trial {} (detol trials {})",
                                             study.record.name, id, study.record.name));
}

double metric_of(const TrialSummary& trial, std::string_view metric) {
  const auto found = std::ranges::find(
      trial.metrics, metric, [](const auto& named) { return std::string_view(named.first); });
  const bool is_there = found != trial.metrics.end() && std::isfinite(found->second);
  return is_there ? found->second : std::numeric_limits<double>::quiet_NaN();
}

Result<Genome> genome_of(const StudyConfig& config, const TrialSummary& trial) {
  return config.space.genome(trial.parameters);
}

Result<std::optional<TrialId>> inherited_by(const OpenStudy& study, TrialId trial) {
  DETOL_ASSIGN(const Rows rows,
               study.reader->select("SELECT * FROM v_trials WHERE study = ?1 AND trial = ?2",
                                    {study.record.name, static_cast<std::int64_t>(trial)}));
  const bool is_there = std::ranges::find(rows.columns, "inherits") != rows.columns.end();
  if (!is_there || rows.rows.empty()) return std::nullopt;  // an older detol wrote it
  const auto* parent = std::get_if<std::int64_t>(&cell(rows, 0, "inherits"));
  return parent == nullptr ? std::nullopt : std::optional(static_cast<TrialId>(*parent));
}

tl::unexpected<Error> nothing_reported(const OpenStudy& study) {
  return fail(ErrorCode::kEmpty,
              fmt::format("study {} has no trial that reported a number yet", study.record.name));
}

tl::unexpected<Error> no_best_trial(const OpenStudy& study) {
  const auto scored = trial_rows(study, {.top = 1, .only_scored = true});
  if (!scored || scored->rows.empty()) return nothing_reported(study);
  return fail(ErrorCode::kEmpty,
              fmt::format("study {0} has no trial yet that keeps to its constraints; `detol trials "
                          "{0} --sort {1}` lists the nearest first",
                          study.record.name, kViolationMetric));
}

}  // namespace detol::inline studies
