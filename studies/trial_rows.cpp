#include "studies/trial_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"
#include "encodings/network/task.h"
#include "studies/final_choice.h"
#include "studies/model_rows.h"
#include "studies/recommended_rows.h"

namespace detol::inline studies {
namespace {

constexpr std::string_view kListedColumns =
    "trial, state, value, values_json AS \"values\", params_json AS params, epochs, best_epoch, "
    "params AS network_params, flops, device_seconds, algorithm, arch_hash, failure, reason, "
    "strftime('%Y-%m-%dT%H:%M:%SZ', started, 'unixepoch') AS started, "
    "strftime('%Y-%m-%dT%H:%M:%SZ', finished, 'unixepoch') AS finished";

// Columns of v_trials that a filter may name.
constexpr std::array<std::string_view, 15> kNames = {
    "trial",          "state",   "failure",  "reason", "algorithm",
    "arch_hash",      "params",  "flops",    "epochs", "best_epoch",
    "device_seconds", "started", "finished", "value",  "feasible"};

// Alias: a metric or parameter of the study that --where and --sort use as a column.
struct Alias {
  std::string name;
  std::string_view column;  // values_json or params_json
};

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string quoted_text(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("''") : std::string(1, c);
  return word + "'";
}

// Returns every metric and parameter of the study that is no column of v_trials.
Result<std::vector<Alias>> aliases_of(const OpenStudy& study) {
  std::vector<Alias> aliases;
  for (const std::string_view column : {"values_json", "params_json"}) {
    const std::string sql = fmt::format(
        "SELECT DISTINCT j.key FROM v_trials t, json_each(t.{}) j WHERE t.study = ?1", column);
    DETOL_ASSIGN(const Rows names, study.reader->select(sql, {study.record.name}));
    for (const auto& row : names.rows) {
      const auto* name = std::get_if<std::string>(&row.front());
      if (name == nullptr || std::find(kNames.begin(), kNames.end(), *name) != kNames.end())
        continue;
      aliases.push_back({*name, column});
    }
  }
  return aliases;
}

std::string inner_select(const std::vector<Alias>& aliases) {
  std::string sql = "SELECT t.*";
  for (const Alias& alias : aliases) {
    sql += fmt::format(", json_extract(t.{}, {}) AS {}", alias.column,
                       quoted_text("$." + quoted_name(alias.name)), quoted_name(alias.name));
  }
  return sql + " FROM v_trials t WHERE t.study = ?1";
}

Result<std::string> order_by(const OpenStudy& study, const std::string& name,
                             const std::vector<Alias>& aliases) {
  std::vector<std::string_view> known(kNames.begin(), kNames.end());
  for (const Alias& alias : aliases) known.push_back(alias.name);
  if (std::find(known.begin(), known.end(), name) == known.end())
    return fail(ErrorCode::kUsage, "--sort: " + unknown_name("name", name, known));
  bool descending = is_better_if_larger(name);
  for (const Objective& objective : study.record.objectives) {
    const bool first = &objective == &study.record.objectives.front();
    if (objective.metric == name || (first && name == "value"))
      descending = objective.direction == Direction::kMaximize;
  }
  const std::string column = quoted_name(name);
  // A value that is no number (a NaN, or nothing) comes last; of equal values a COMPLETE trial's
  // comes first.
  return fmt::format(" ORDER BY typeof({0}) NOT IN ('integer', 'real'), {0} {1}, {2}trial", column,
                     descending ? "DESC" : "ASC", name == "value" ? "state <> 'COMPLETE', " : "");
}

}  // namespace

Result<Rows> trial_rows(const OpenStudy& study, const TrialFilter& filter) {
  std::vector<Alias> aliases;
  if (!filter.where.empty() || !filter.sort.empty()) {
    DETOL_ASSIGN(aliases, aliases_of(study));
  }
  std::string sql =
      fmt::format("SELECT {} FROM ({}) WHERE 1", kListedColumns, inner_select(aliases));
  std::vector<Cell> arguments = {study.record.name};
  if (!filter.state.empty()) {
    sql += " AND state = ?2";
    arguments.emplace_back(filter.state);
  }
  if (filter.only_scored) sql += " AND epochs > 0 AND state <> 'FAIL' AND value IS NOT NULL";
  if (filter.only_feasible) sql += " AND feasible";
  if (filter.among) sql += fmt::format(" AND trial IN ({})", fmt::join(*filter.among, ", "));
  if (!filter.where.empty()) sql += fmt::format(" AND ({}\n)", filter.where);
  if (filter.sort.empty()) {
    sql += " ORDER BY state = 'WAITING' AND started IS NULL, trial";  // never tried: last
  } else {
    DETOL_ASSIGN(const std::string order, order_by(study, filter.sort, aliases));
    sql += order;
  }
  if (filter.top) sql += fmt::format(" LIMIT {}", *filter.top);
  return study.reader->select(sql, arguments);
}

Result<Rows> finished_rows(const OpenStudy& study, std::optional<std::vector<TrialId>> among) {
  DETOL_ASSIGN(Rows trials, trial_rows(study, {.only_scored = true, .among = std::move(among)}));
  const std::vector<Cell> ended = {std::string(to_text(TrialState::kComplete)),
                                   std::string(to_text(TrialState::kPruned))};
  Rows finished{.columns = trials.columns, .rows = {}};
  for (std::size_t i = 0; i < trials.rows.size(); ++i) {
    if (std::ranges::find(ended, cell(trials, i, "state")) != ended.end())
      finished.rows.push_back(std::move(trials.rows[i]));
  }
  if (!finished.rows.empty()) return finished;
  return nothing_reported(study);
}

Result<double> metric_of(const Rows& trials, std::size_t row, const std::string& metric) {
  const auto* text = std::get_if<std::string>(&cell(trials, row, "values"));
  if (text == nullptr) return std::numeric_limits<double>::quiet_NaN();  // it reported nothing
  const auto values = json_or_discarded(*text);
  if (!values.is_object()) return fail(ErrorCode::kStorage, "a trial's values are damaged");
  const auto value = values.find(metric);
  if (value == values.end() || !value->is_number()) return std::numeric_limits<double>::quiet_NaN();
  return value->get<double>();
}

tl::unexpected<Error> no_best_trial(const OpenStudy& study) {
  const auto scored = trial_rows(study, {.top = 1, .only_scored = true});
  if (!scored || scored->rows.empty()) return nothing_reported(study);
  return fail(ErrorCode::kEmpty,
              fmt::format("study {0} has no trial yet that keeps to its constraints; `detol trials "
                          "{0} --sort {1}` lists the nearest first",
                          study.record.name, kViolationMetric));
}

tl::unexpected<Error> nothing_reported(const OpenStudy& study) {
  return fail(ErrorCode::kEmpty,
              fmt::format("study {} has no trial that reported a number yet", study.record.name));
}

Result<Rows> best_by_value(const OpenStudy& study) {
  DETOL_ASSIGN(
      Rows best,
      trial_rows(study, {.sort = "value", .top = 1, .only_scored = true, .only_feasible = true}));
  if (!best.rows.empty()) return best;
  return no_best_trial(study);
}

Result<Rows> best_observed(const OpenStudy& study) {
  DETOL_ASSIGN(Rows best, best_by_value(study));
  DETOL_ASSIGN(const auto models, models_of(study));
  const TrialId by_value = trial_of(best, 0);
  const TrialId chosen = final_choice(study, models, by_value).value_or(by_value);
  if (chosen == by_value) return best;
  return one_trial(study, std::to_string(chosen));
}

Result<std::optional<ChosenTrial>> chosen_trial(const OpenStudy& study) {
  DETOL_ASSIGN(const bool is_by_posterior, is_best_by_posterior(study));
  if (is_by_posterior) {
    DETOL_ASSIGN(const auto ranked, recommended_rows(study));
    if (ranked) return ChosenTrial{trial_of(*ranked, 0), "posterior"};
  }
  const auto best = best_by_value(study);
  if (!best && best.error().code == ErrorCode::kEmpty) return std::nullopt;
  if (!best) return tl::unexpected(best.error());
  DETOL_ASSIGN(const auto models, models_of(study));
  const auto chosen = final_choice(study, models, trial_of(*best, 0));
  return chosen ? std::optional(ChosenTrial{*chosen, "cross-validation"}) : std::nullopt;
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

TrialId trial_of(const Rows& trials, std::size_t row) {
  return static_cast<TrialId>(std::get<std::int64_t>(cell(trials, row, "trial")));
}

double real_cell(const Rows& rows, std::size_t row, std::string_view column) {
  return cell_number(cell(rows, row, column), 0);
}

Result<Rows> one_trial(const OpenStudy& study, const std::string& id_or_best) {
  if (id_or_best == "best") {
    DETOL_ASSIGN(const auto chosen, chosen_trial(study));
    return chosen ? one_trial(study, std::to_string(chosen->trial)) : best_by_value(study);
  }
  TrialId id = 0;
  const auto [end, error] =
      std::from_chars(id_or_best.data(), id_or_best.data() + id_or_best.size(), id);
  if (error != std::errc() || end != id_or_best.data() + id_or_best.size())
    return fail(ErrorCode::kUsage,
                fmt::format("trial is {}; it must be its number or 'best'", in_quotes(id_or_best)));
  DETOL_ASSIGN(Rows rows, trial_rows(study, {.where = fmt::format("trial = {}", id)}));
  if (!rows.rows.empty()) return rows;
  return fail(ErrorCode::kEmpty, fmt::format("study {} has no trial {} (detol trials {})",
                                             study.record.name, id, study.record.name));
}

Result<Genome> genome_of(const StudyConfig& config, const Rows& rows, std::size_t row) {
  const auto* text = std::get_if<std::string>(&cell(rows, row, "params"));
  const auto params = json_or_discarded(text != nullptr ? *text : "");
  if (!params.is_object()) return fail(ErrorCode::kStorage, "a trial's parameters are damaged");
  std::vector<std::pair<std::string, Value>> assignments;
  for (const auto& [name, value] : params.items()) {
    if (value.is_boolean()) assignments.emplace_back(name, value.get<bool>());
    if (value.is_number_integer()) assignments.emplace_back(name, value.get<std::int64_t>());
    if (value.is_number_float()) assignments.emplace_back(name, value.get<double>());
    if (value.is_string()) assignments.emplace_back(name, value.get<std::string>());
  }
  return config.space.genome(assignments);
}

Result<void> add_architecture(const OpenStudy& study, Rows& rows) {
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  const auto params = std::find(rows.columns.begin(), rows.columns.end(), "params");
  const auto at = params - rows.columns.begin() + 1;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    DETOL_ASSIGN(const Genome genome, genome_of(config, rows, i));
    rows.rows[i].insert(rows.rows[i].begin() + at, config.architecture_json(genome));
  }
  rows.columns.insert(rows.columns.begin() + at, "architecture");
  return {};
}

Rows only_columns(const Rows& rows, const std::vector<std::string>& names) {
  Rows chosen{.columns = names, .rows = {}};
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    auto& cells = chosen.rows.emplace_back();
    for (const std::string& name : names) cells.push_back(cell(rows, i, name));
  }
  return chosen;
}

const Cell& cell(const Rows& rows, std::size_t row, std::string_view column) {
  const auto found = std::find(rows.columns.begin(), rows.columns.end(), column);
  return rows.rows[row][static_cast<std::size_t>(found - rows.columns.begin())];
}

}  // namespace detol::inline studies
