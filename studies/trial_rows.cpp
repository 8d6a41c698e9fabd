#include "studies/trial_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/table.h"
#include "encodings/network/task.h"

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
Result<std::vector<Alias>> aliases_of(Reader& reader, const StudyRecord& study) {
  std::vector<Alias> aliases;
  for (const std::string_view column : {"values_json", "params_json"}) {
    const std::string sql = fmt::format(
        "SELECT DISTINCT j.key FROM v_trials t, json_each(t.{}) j WHERE t.study = ?1", column);
    DETOL_ASSIGN(const Rows names, reader.select(sql, {study.name}));
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

Result<std::string> order_by(const StudyRecord& study, const std::string& name,
                             const std::vector<Alias>& aliases) {
  std::vector<std::string_view> known(kNames.begin(), kNames.end());
  for (const Alias& alias : aliases) known.push_back(alias.name);
  if (std::find(known.begin(), known.end(), name) == known.end())
    return fail(ErrorCode::kUsage, "--sort: " + unknown_name("name", name, known));
  bool descending = is_better_if_larger(name);
  for (const Objective& objective : study.objectives) {
    const bool first = &objective == &study.objectives.front();
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

Result<Rows> trial_rows(Reader& reader, const StudyRecord& study, const TrialFilter& filter) {
  std::vector<Alias> aliases;
  if (!filter.where.empty() || !filter.sort.empty()) {
    DETOL_ASSIGN(aliases, aliases_of(reader, study));
  }
  std::string sql =
      fmt::format("SELECT {} FROM ({}) WHERE 1", kListedColumns, inner_select(aliases));
  std::vector<Cell> arguments = {study.name};
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
  return reader.select(sql, arguments);
}

TrialId trial_of(const Rows& trials, std::size_t row) {
  return static_cast<TrialId>(std::get<std::int64_t>(cell(trials, row, "trial")));
}

const Cell& cell(const Rows& rows, std::size_t row, std::string_view column) {
  const auto found = std::find(rows.columns.begin(), rows.columns.end(), column);
  return rows.rows[row][static_cast<std::size_t>(found - rows.columns.begin())];
}

}  // namespace detol::inline studies
