#include "studies/study_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/budget.h"
#include "scheduler/run/group_advice.h"
#include "studies/best_trial.h"
#include "studies/trial_columns.h"

namespace detol::inline studies {
namespace {

// Returns the query for the rows of studies, or of the study ?1.
std::string studies_sql(bool is_one) {
  return fmt::format(R"sql(
SELECT study, state, metric, budget, trials, best, best_trial, wall_seconds, device_seconds,
  created_at AS created
FROM v_studies {})sql",
                     is_one ? "WHERE study = ?1" : "ORDER BY v_studies.created, study");
}

constexpr std::string_view kCounts = R"sql(
SELECT count(*) FILTER (WHERE epochs > 0), count(*) FILTER (WHERE state = 'RUNNING'),
  count(*) FILTER (WHERE state = 'WAITING'), count(*) FILTER (WHERE state = 'COMPLETE'),
  count(*) FILTER (WHERE state = 'PRUNED'), count(*) FILTER (WHERE state = 'FAIL'),
  total(device_seconds), count(*) FILTER (WHERE algorithm = 'fallback'),
  count(*) FILTER (WHERE started_at IS NOT NULL),
  count(*) FILTER (WHERE state = 'WAITING' AND started_at IS NULL)
FROM v_trials WHERE study = ?1)sql";

Cell share_used(const std::string& text, const Spent& spent) {
  const auto budget = parse_budget(text);
  if (!budget || budget->is_unlimited() || budget->work) return {};
  return fmt::format("{:.0f} %", 100 * budget->used(spent));
}

Cell utilisation(double training_s, double device_s) {
  if (device_s <= 0) return {};
  return fmt::format("{:.0f} %", 100 * std::min(1.0, training_s / device_s));
}

// Describes the state: the row of a study whose processes were killed still says RUNNING.
// `untried`: its proposals that never started.
std::string situation_of(const StudyRecord& study, const std::optional<Writer>& runner,
                         double untried) {
  const std::string left =
      untried > 0 ? fmt::format(", {:.0f} proposals not tried", untried) : std::string();
  const auto config = load_study_config(study.config, study.name);
  const bool is_asked = config && config->external;
  const std::string resume = fmt::format("detol {} {}", is_asked ? "ask" : "resume", study.name);
  if (study.state == StudyPhase::kDone)
    return fmt::format("done{}; extend with `{} --budget +...`", left, resume);
  if (study.state == StudyPhase::kStopped)
    return fmt::format("stopped; {} with `{}`", is_asked ? "ask again" : "resume", resume);
  if (runner) return "run by " + to_text(*runner);
  return fmt::format("killed; resume with `{}`", resume);
}

// Returns the workers that train now, "local/0 node7/4711": those of other machines show their
// host.
Cell workers_of(std::span<const Event> events) {
  std::map<TrialId, std::string> training;
  for (const Event& event : events) {
    if (const auto* started = std::get_if<event::Started>(&event))
      training[started->trial] = started->worker;
    if (const auto* told = std::get_if<event::Told>(&event)) training.erase(told->trial);
    if (const auto* requeued = std::get_if<event::Requeued>(&event))
      training.erase(requeued->trial);
  }
  std::set<std::string> names;
  for (const auto& [trial, worker] : training) names.insert(worker);
  return names.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(names, " ")));
}

Cell to_cell(const ChosenTrial& chosen) {
  return fmt::format("{} ({})", chosen.trial, chosen.by);
}

// Adds what the best trials of studies were chosen by, "2 (cross-validation)", where more than
// their values decides. Most have no choice, and are not looked at.
Result<void> add_chosen(const std::string& storage, Reader& reader,
                        std::span<const StudyRecord> records, Rows& rows) {
  DETOL_ASSIGN(const Rows choices, reader.select("SELECT DISTINCT study FROM v_models WHERE kind = "
                                                 "'cross_validated'"));
  std::vector<Cell> chosen;
  for (const auto& row : rows.rows) {
    const auto record =
        std::ranges::find(records, std::get<std::string>(row.front()), &StudyRecord::name);
    const bool has_folds = std::ranges::any_of(
        choices.rows, [&](const auto& choice) { return choice.front() == row.front(); });
    const bool may_repeat =
        record != records.end() && record->config.find("repeats") != std::string::npos;
    chosen.emplace_back();
    if (!has_folds && !may_repeat) continue;
    DETOL_ASSIGN(const OpenStudy study, open_study(storage, std::get<std::string>(row.front())));
    DETOL_ASSIGN(const auto one, chosen_trial(study));
    if (one) chosen.back() = to_cell(*one);
  }
  insert_column("chosen", "best_trial", std::move(chosen), rows);
  return {};
}

// Adds who runs each study now, without whom one that is not over was killed.
void add_runners(std::span<const StudyRecord> studies, std::span<const Writer> writers,
                 Rows& rows) {
  std::vector<Cell> runners;
  for (auto& row : rows.rows) {
    const auto& name = std::get<std::string>(row.front());
    const auto study = std::ranges::find(studies, name, &StudyRecord::name);
    const Writer* runner =
        find_runner(writers, study != studies.end() ? study->id : StudyId{0}, name);
    if (study != studies.end()) row[1] = std::string(shown_state(study->state, runner != nullptr));
    runners.push_back(runner != nullptr ? Cell(to_text(*runner)) : Cell());
  }
  insert_column("run_by", "state", std::move(runners), rows);
}

}  // namespace

Result<Rows> status_of(const OpenStudy& study, const std::string& storage) {
  Reader& reader = *study.reader;
  const StudyRecord& record = study.record;
  DETOL_ASSIGN(Rows rows, reader.select(studies_sql(true), {record.name}));
  DETOL_ASSIGN(Rows counts, reader.select(std::string(kCounts), {record.name}));
  auto& row = rows.rows.front();
  auto& count = counts.rows.front();
  const double untried = cell_number(count[9], 0);
  const Spent spent{.wall_s = cell_number(row[7], 0),
                    .device_s = cell_number(row[8], 0),
                    .trials = cell_number(count[8], 0),
                    .work = 0};
  count.resize(8);
  const Cell used = share_used(std::get<std::string>(row[3]), spent);
  row.insert(row.end(), count.begin(), count.end());
  rows.columns.insert(
      rows.columns.end(),
      {"trained", "running", "waiting", "complete", "pruned", "failed", "training_seconds",
       "fallback_proposals", "workers", "group_sizes", "strong_scaling", "weak_scaling",
       "advised_group_size", "utilisation", "budget_used", "situation"});
  DETOL_ASSIGN(const std::vector<Event> events, reader.events(record.id));
  DETOL_ASSIGN(const GroupAdvice groups, group_advice(reader, record, events));
  row.push_back(cell_number(count[1], 0) > 0 ? workers_of(events) : Cell());
  row.insert(row.end(), {groups.sizes, groups.strong, groups.weak, groups.advised});
  row.push_back(utilisation(cell_number(count[6], 0), spent.device_s));
  row.push_back(used);
  DETOL_ASSIGN(const auto runner, runner_of(storage, record));
  row[1] = std::string(shown_state(record.state, runner.has_value()));
  row.emplace_back(situation_of(record, runner, untried));
  DETOL_ASSIGN(const auto chosen, chosen_trial(study));
  insert_column("chosen", "best_trial", {chosen ? to_cell(*chosen) : Cell()}, rows);
  return rows;
}

Result<Rows> study_rows(Reader& reader, const std::string& storage) {
  DETOL_ASSIGN(Rows rows, reader.select(studies_sql(false)));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, "there is no study yet (detol search --help)");
  DETOL_ASSIGN(const auto records, reader.studies());
  DETOL_TRY(add_chosen(storage, reader, records, rows));
  DETOL_ASSIGN(const auto writers, current_writers(storage));
  add_runners(records, writers, rows);
  return rows;
}

}  // namespace detol::inline studies
