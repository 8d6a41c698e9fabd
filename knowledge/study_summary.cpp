#include <cmath>
#include <map>

#include "encodings/study/study_config.h"
#include "knowledge/study_summary_impl.h"

namespace detol::inline knowledge {
namespace {

// Returns the first objective's metric; nullopt if the report has no number for it, or the trial
// breaks a constraint of the study.
std::optional<double> value_of(const StudyRecord& study, const event::Reported& reported) {
  if (study.objectives.empty()) return std::nullopt;
  std::optional<double> first;
  for (const auto& [name, value] : reported.metrics) {
    if (name == kViolationMetric && value != 0) return std::nullopt;
    if (name == study.objectives.front().metric && !std::isnan(value)) first = value;
  }
  return first;
}

bool is_before(const StudyRecord& study, const BestTrial& a, const BestTrial& b) {
  if (a.value == b.value) return a.trial < b.trial;
  return is_better(study.objectives.front().direction, a.value, b.value);
}

void forget_best(StudySummary& summary) {
  summary.best.reset();
  summary.is_best_known = false;
}

// REQUIRES: the best trial is known.
void rank(StudySummary& summary, const StudyRecord& study, const event::Reported& reported) {
  const std::optional<double> value = value_of(study, reported);
  std::optional<BestTrial>& best = summary.best;
  const bool is_of_best = best && best->trial == reported.trial;
  if (is_of_best && (!value || is_before(study, *best, {reported.trial, *value})))
    return forget_best(summary);
  if (!value) return;
  const BestTrial candidate{reported.trial, *value};
  if (!best || is_of_best || is_before(study, candidate, *best)) best = candidate;
}

// Returns the trial that the event makes count or not count, if it can.
std::optional<TrialId> trial_of(const Event& event) {
  if (const auto* started = std::get_if<event::Started>(&event)) return started->trial;
  if (const auto* requeued = std::get_if<event::Requeued>(&event)) return requeued->trial;
  if (const auto* told = std::get_if<event::Told>(&event)) return told->trial;
  return std::nullopt;
}

bool is_fail(const Event& event) {
  const auto* told = std::get_if<event::Told>(&event);
  return told != nullptr && told->state == TrialState::kFail;
}

}  // namespace

void update(StudySummary& summary, const StudyRecord& study, const Event& event, bool had_failed) {
  if (std::holds_alternative<event::Asked>(event)) ++summary.trials;
  if (!summary.is_best_known) return;
  if (const auto* reported = std::get_if<event::Reported>(&event)) rank(summary, study, *reported);
  const std::optional<TrialId> trial = trial_of(event);
  if (!trial) return;
  const bool is_best = summary.best && summary.best->trial == *trial;
  if (is_fail(event) ? is_best : had_failed) forget_best(summary);
}

StudySummary summary_of(const StudyRecord& study, std::span<const Event> events) {
  struct Newest {
    std::optional<double> value;
    bool has_failed = false;
  };
  StudySummary summary;
  std::map<TrialId, Newest> trials;
  for (const Event& event : events) {
    if (std::holds_alternative<event::Asked>(event)) ++summary.trials;
    if (const auto* reported = std::get_if<event::Reported>(&event))
      trials[reported->trial].value = value_of(study, *reported);
    if (const auto trial = trial_of(event)) trials[*trial].has_failed = is_fail(event);
  }
  for (const auto& [id, newest] : trials) {
    if (newest.has_failed || !newest.value) continue;
    const BestTrial candidate{id, *newest.value};
    if (!summary.best || is_before(study, candidate, *summary.best)) summary.best = candidate;
  }
  return summary;
}

bool agrees(const StudySummary& summary, const StudySummary& computed) {
  return summary.trials == computed.trials &&
         (!summary.is_best_known || summary.best == computed.best);
}

}  // namespace detol::inline knowledge
