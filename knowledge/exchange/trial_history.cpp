#include "knowledge/exchange/trial_history.h"

#include <algorithm>
#include <limits>

#include "core/log.h"
#include "knowledge/studies.h"

namespace detol::inline knowledge {
namespace {

constexpr const char* kImporter = "import";  // as the worker, and as what pruned a trial

double metric_at(const EpochMetrics& epoch, const std::string& name) {
  const auto found = std::ranges::find(epoch.metrics, name, &std::pair<std::string, double>::first);
  return found == epoch.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

// A later attempt may repeat epochs of an earlier one. Curves are of whole epochs.
void add_report(TrialHistory& history, const event::Reported& reported) {
  if (reported.part > 0) return;
  if (reported.is_best) history.best_epoch = reported.epoch;
  const auto at = std::ranges::lower_bound(history.curve, reported.epoch, {}, &EpochMetrics::epoch);
  EpochMetrics epoch{reported.epoch, reported.metrics};
  if (at != history.curve.end() && at->epoch == reported.epoch)
    *at = std::move(epoch);
  else
    history.curve.insert(at, std::move(epoch));
}

void add_outcome(TrialHistory& history, const event::Told& told,
                 std::span<const Objective> objectives) {
  history.state = told.state;
  history.failure = cause_of(told.outcome);
  history.finished_s = told.at_s;
  const auto* measured = std::get_if<Measured>(&told.outcome);
  if (measured == nullptr || !history.curve.empty()) return;
  EpochMetrics epoch{std::max(1, static_cast<int>(measured->fidelity)), {}};
  for (std::size_t i = 0; i < std::min(objectives.size(), measured->values.size()); ++i)
    epoch.metrics.emplace_back(objectives[i].metric, measured->values[i]);
  if (!epoch.metrics.empty()) history.curve.push_back(std::move(epoch));
}

event::Told told_of(TrialId trial, const TrialHistory& history,
                    std::span<const Objective> objectives) {
  event::Told told;
  told.trial = trial;
  told.state = history.state;
  told.at_s = history.finished_s;
  const double epochs = history.curve.empty() ? 0 : history.curve.back().epoch;
  if (history.state == TrialState::kFail) {
    told.reason = {EndCause::kFailure, "imported"};
    told.outcome = Failed{.cause = history.failure.value_or(Cause::kCrashed), .fidelity = epochs};
    return told;
  }
  const bool is_pruned = history.state == TrialState::kPruned;
  if (is_pruned) told.reason = {EndCause::kPruner, kImporter};
  Measured measured{.values = {}, .fidelity = epochs, .stopped_early = is_pruned};
  const EpochMetrics end = history.curve.empty() ? EpochMetrics{} : final_epoch(history);
  for (const Objective& objective : objectives)
    measured.values.push_back(metric_at(end, objective.metric));
  told.outcome = std::move(measured);
  return told;
}

// Returns the study to fill: a new one, or the empty one that a killed process left.
Result<StudyId> study_to_fill(Ledger& ledger, const StudyRecord& record) {
  const auto known = ledger.study(record.name);
  if (!known || known->first_config() != record.first_config()) return ledger.create_study(record);
  DETOL_ASSIGN(const auto events, ledger.events(known->id));
  return events.empty() ? Result<StudyId>(known->id) : ledger.create_study(record);
}

}  // namespace

void set_metric(EpochMetrics& epoch, const std::string& name, double value) {
  const auto found = std::ranges::find(epoch.metrics, name, &std::pair<std::string, double>::first);
  if (found != epoch.metrics.end())
    found->second = value;
  else
    epoch.metrics.emplace_back(name, value);
}

const EpochMetrics& final_epoch(const TrialHistory& history) {
  const auto found = std::ranges::find(history.curve, history.best_epoch, &EpochMetrics::epoch);
  return found == history.curve.end() ? history.curve.back() : *found;
}

std::vector<TrialHistory> histories_of(std::span<const Event> events,
                                       std::span<const Objective> objectives) {
  std::vector<TrialHistory> histories;
  const auto find = [&](TrialId trial) {
    return trial < histories.size() ? &histories[trial] : nullptr;
  };
  for (const Event& event : events) {
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      if (asked->trial == histories.size())
        histories.push_back({.state = TrialState::kWaiting, .params = asked->params, .curve = {}});
    } else if (const auto* started = std::get_if<event::Started>(&event)) {
      TrialHistory* history = find(started->trial);
      if (history == nullptr) continue;
      history->state = TrialState::kRunning;
      if (history->started_s == 0) history->started_s = started->at_s;
    } else if (const auto* reported = std::get_if<event::Reported>(&event)) {
      if (TrialHistory* history = find(reported->trial)) add_report(*history, *reported);
    } else if (const auto* told = std::get_if<event::Told>(&event)) {
      if (TrialHistory* history = find(told->trial)) add_outcome(*history, *told, objectives);
    } else if (const auto* requeued = std::get_if<event::Requeued>(&event)) {
      TrialHistory* history = find(requeued->trial);
      if (history == nullptr) continue;
      history->state = TrialState::kWaiting;
      history->failure.reset();
      history->finished_s = 0;
    }
  }
  return histories;
}

std::vector<Event> events_of(const event::Asked& asked, const TrialHistory& history,
                             std::span<const Objective> objectives) {
  event::Started started;
  started.trial = asked.trial;
  started.worker = kImporter;
  started.at_s = history.started_s;
  std::vector<Event> events = {asked, started};
  for (const EpochMetrics& epoch : history.curve) {
    event::Reported reported;
    reported.trial = asked.trial;
    reported.epoch = epoch.epoch;
    reported.metrics = epoch.metrics;
    reported.is_best = epoch.epoch <= final_epoch(history).epoch;
    events.emplace_back(std::move(reported));
  }
  events.emplace_back(told_of(asked.trial, history, objectives));
  return events;
}

Result<void> add_study(const std::filesystem::path& database, const StudyRecord& record,
                       std::span<const Event> events) {
  DETOL_ASSIGN(auto ledger, Ledger::open(database));
  DETOL_ASSIGN(const StudyId id, study_to_fill(*ledger, record));
  auto done = ledger->append(id, events);
  if (done) return done;
  ledger.reset();  // delete_study() takes its locks itself
  if (const auto deleted = delete_study(database, record.name); !deleted)
    log_warning("the empty study {} stays: {}", record.name, deleted.error().message);
  return done;
}

}  // namespace detol::inline knowledge
