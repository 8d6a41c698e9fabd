// `status` and `studies` show the same row of a study. `status --watch` draws it live (watch.h).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/trial_columns.h"
#include "cli/watch.h"
#include "core/table.h"
#include "knowledge/query.h"
#include "knowledge/storage/writer.h"
#include "scheduler/budget.h"
#include "scheduler/run/group_advice.h"
#include "studies/best_trial.h"
#include "studies/labels.h"
#include "studies/open_study.h"
#include "studies/trial_rows.h"

namespace detol::inline cli {
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

// Inserts the column `chosen` after `best_trial`: "2 (cross-validation)" where more than its value
// decides which trial is the best.
void insert_chosen(Rows& rows, std::vector<Cell> chosen) {
  const auto at = std::ranges::find(rows.columns, "best_trial") - rows.columns.begin() + 1;
  rows.columns.insert(rows.columns.begin() + at, "chosen");
  for (std::size_t i = 0; i < rows.rows.size(); ++i)
    rows.rows[i].insert(rows.rows[i].begin() + at, std::move(chosen[i]));
}

// Adds what the best trials of studies were chosen by. Most have no choice, and are not looked at.
Result<void> add_chosen(const std::string& storage, Reader& reader, Rows& rows) {
  DETOL_ASSIGN(const auto records, reader.studies());
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
  insert_chosen(rows, std::move(chosen));
  return {};
}

// Returns the study's row with its trials counted by state.
Result<Rows> status_of(const OpenStudy& study, const std::string& storage) {
  Reader& reader = *study.reader;
  const StudyRecord& record = study.record;
  DETOL_ASSIGN(Rows rows, reader.select(studies_sql(true), {record.name}));
  DETOL_ASSIGN(Rows counts, reader.select(std::string(kCounts), {record.name}));
  auto& row = rows.rows.front();
  auto& count = counts.rows.front();
  const double untried = cell_number(count.back(), 0);
  count.pop_back();
  const double begun = cell_number(count.back(), 0);
  count.pop_back();
  const Spent spent{.wall_s = cell_number(row[7], 0),
                    .device_s = cell_number(row[8], 0),
                    .trials = begun,
                    .work = 0};
  const Cell used = share_used(std::get<std::string>(row[3]), spent);
  const std::vector<std::string> names = {
      "trained", "running", "waiting",          "complete",
      "pruned",  "failed",  "training_seconds", "fallback_proposals"};
  rows.columns.insert(rows.columns.end(), names.begin(), names.end());
  row.insert(row.end(), count.begin(), count.end());
  rows.columns.insert(rows.columns.end(),
                      {"workers", "group_sizes", "strong_scaling", "weak_scaling",
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
  insert_chosen(rows, {chosen ? to_cell(*chosen) : Cell()});
  return rows;
}

// Returns the labels of the study itself, from facts of kind `label`.
Labels own_labels(const StudyRecord& study, std::span<const Fact> facts) {
  return labels_of(study, facts)[std::nullopt];
}

Result<int> run_status(const Arguments& arguments) {
  DETOL_ASSIGN(OpenStudy study, open_study(arguments.globals.storage, arguments.text("STUDY")));
  auto& [reader, record] = study;
  if (arguments.has("watch")) {
    reader.reset();  // so that the watch can open the file
    return watch_study(record, arguments);
  }
  DETOL_ASSIGN(Rows rows, status_of(study, arguments.globals.storage));
  DETOL_ASSIGN(const auto facts, reader->facts(kLabelFact));
  add_label_columns({own_labels(record, facts)}, arguments.globals.format, rows);
  return show_record(rows, arguments.globals);
}

// Adds who runs each study now, without whom one that is not over was killed.
void add_runners(Rows& rows, std::span<const StudyRecord> studies,
                 const std::vector<Writer>& writers) {
  rows.columns.insert(rows.columns.begin() + 2, "run_by");
  for (auto& row : rows.rows) {
    const auto& name = std::get<std::string>(row.front());
    const auto study = std::ranges::find(studies, name, &StudyRecord::name);
    const Writer* runner =
        find_runner(writers, study != studies.end() ? study->id : StudyId{0}, name);
    if (study != studies.end()) row[1] = std::string(shown_state(study->state, runner != nullptr));
    row.insert(row.begin() + 2, runner != nullptr ? Cell(to_text(*runner)) : Cell());
  }
}

// Adds the labels of each study, and leaves out those without the tag, unless it is empty.
Result<void> label_studies(Reader& reader, std::span<const StudyRecord> records,
                           const std::string& tag, Format format, Rows& rows) {
  DETOL_ASSIGN(const auto facts, reader.facts(kLabelFact));
  std::vector<Labels> kept;
  Rows shown{.columns = rows.columns, .rows = {}};
  for (auto& row : rows.rows) {
    const auto record =
        std::ranges::find(records, std::get<std::string>(row.front()), &StudyRecord::name);
    // A study that was renamed meanwhile has none.
    Labels labels = record == records.end() ? Labels() : own_labels(*record, facts);
    if (!tag.empty() && !labels.tags.contains(tag)) continue;
    kept.push_back(std::move(labels));
    shown.rows.push_back(std::move(row));
  }
  add_label_columns(kept, format, shown);
  rows = std::move(shown);
  return {};
}

Result<int> run_studies(const Arguments& arguments) {
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(Rows rows, reader->select(studies_sql(false)));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, "there is no study yet (detol search --help)");
  DETOL_TRY(add_chosen(arguments.globals.storage, *reader, rows));
  const std::string tag = arguments.text("tag");
  DETOL_ASSIGN(const auto records, reader->studies());
  DETOL_TRY(label_studies(*reader, records, tag, arguments.globals.format, rows));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, fmt::format("no study has the tag {}", in_quotes(tag)));
  DETOL_ASSIGN(const auto writers, current_writers(arguments.globals.storage));
  add_runners(rows, records, writers);
  return show(rows, arguments.globals);
}

}  // namespace

Command status_command() {
  return {.name = "status",
          .summary = "how far a study is, also while it runs",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--watch", "", "draw it every second until it ends or Ctrl-C"}},
          .examples =
              "  detol status\n"
              "  detol status fashion-cnn -f json\n"
              "  detol status fashion-cnn --watch",
          .run = run_status};
}

Command studies_command() {
  return {
      .name = "studies",
      .summary = "list the studies of the knowledge base and who runs them",
      .options = {{"--tag", "WORD", "only those with that tag (detol study tag); default: all"}},
      .examples = "  detol studies\n  detol studies --storage /data/detol.db -f csv",
      .run = run_studies};
}

}  // namespace detol::inline cli
