#include <cmath>
#include <map>

#include "encodings/study/study_config.h"
#include "knowledge/study_summary_impl.h"
#include "knowledge/trial_rank.h"

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

bool is_before(const StudyRecord& study, const TrialRank& a, const TrialRank& b) {
  return is_before(study.objectives.front().direction, a, b);
}

void forget_best(StudySummary& summary) {
  summary.best.reset();
  summary.is_best_known = false;
}

// REQUIRES: the best trial is known.
void rank(StudySummary& summary, const StudyRecord& study, const event::Reported& reported,
          bool is_best_complete) {
  if (!reported.is_best) return;
  const std::optional<double> value = value_of(study, reported);
  std::optional<BestTrial>& best = summary.best;
  const bool is_of_best = best && best->trial == reported.trial;
  const TrialRank ranked{.value = value.value_or(0), .trial = reported.trial};
  if (is_of_best && (!value || is_before(study, {best->value, false, best->trial}, ranked)))
    return forget_best(summary);
  if (!value) return;
  if (!best || is_of_best || is_before(study, ranked, {best->value, is_best_complete, best->trial}))
    best = {ranked.trial, ranked.value};
}

// A trial that ends COMPLETE is preferred to one of equal value that does not. REQUIRES: as rank.
void prefer_complete(StudySummary& summary, const event::Told& told, bool is_best_complete) {
  const auto* measured = std::get_if<Measured>(&told.outcome);
  std::optional<BestTrial>& best = summary.best;
  const bool is_equal = best && measured != nullptr && !measured->values.empty() &&
                        measured->values.front() == best->value && best->trial != told.trial;
  if (told.state == TrialState::kComplete && is_equal &&
      (!is_best_complete || told.trial < best->trial))
    forget_best(summary);  // unless it breaks a constraint, which the outcome does not say
}

// Returns the trial that the event makes count or not count, if it can.
std::optional<TrialId> trial_of(const Event& event) {
  if (const auto* started = std::get_if<event::Started>(&event)) return started->trial;
  if (const auto* requeued = std::get_if<event::Requeued>(&event)) return requeued->trial;
  if (const auto* told = std::get_if<event::Told>(&event)) return told->trial;
  return std::nullopt;
}

bool is_in(const Event& event, TrialState state) {
  const auto* told = std::get_if<event::Told>(&event);
  return told != nullptr && told->state == state;
}

}  // namespace

bool needs_best(const StudySummary& summary, const StudyRecord& study, const Event& event) {
  if (!summary.best) return false;
  if (const auto* reported = std::get_if<event::Reported>(&event))
    return value_of(study, *reported) == summary.best->value;
  if (trial_of(event) == summary.best->trial) return true;
  const auto* told = std::get_if<event::Told>(&event);
  const auto* measured = told != nullptr ? std::get_if<Measured>(&told->outcome) : nullptr;
  return measured != nullptr && !measured->values.empty() &&
         measured->values.front() == summary.best->value;
}

void update(StudySummary& summary, const StudyRecord& study, const Event& event,
            const EventContext& context) {
  if (std::holds_alternative<event::Asked>(event)) ++summary.trials;
  if (!summary.is_best_known) return;
  if (const auto* reported = std::get_if<event::Reported>(&event))
    rank(summary, study, *reported, context.is_best_complete);
  if (const auto* told = std::get_if<event::Told>(&event))
    prefer_complete(summary, *told, context.is_best_complete);
  const std::optional<TrialId> trial = trial_of(event);
  if (!trial || !summary.is_best_known) return;
  const bool is_best = summary.best && summary.best->trial == *trial;
  const bool resumes = is_best && context.is_best_complete &&
                       !is_in(event, TrialState::kComplete);  // it is COMPLETE no more
  if (is_in(event, TrialState::kFail) ? is_best : context.had_failed || resumes)
    forget_best(summary);
}

StudySummary summary_of(const StudyRecord& study, std::span<const Event> events) {
  struct Newest {
    std::optional<double> value;
    bool has_failed = false;
    bool is_complete = false;
  };
  StudySummary summary;
  std::map<TrialId, Newest> trials;
  for (const Event& event : events) {
    if (std::holds_alternative<event::Asked>(event)) ++summary.trials;
    const auto* reported = std::get_if<event::Reported>(&event);
    if (reported != nullptr && reported->is_best)
      trials[reported->trial].value = value_of(study, *reported);
    if (const auto trial = trial_of(event)) {
      trials[*trial].has_failed = is_in(event, TrialState::kFail);
      trials[*trial].is_complete = is_in(event, TrialState::kComplete);
    }
  }
  std::optional<TrialRank> best;
  for (const auto& [id, newest] : trials) {
    if (newest.has_failed || !newest.value) continue;
    const TrialRank ranked{*newest.value, newest.is_complete, id};
    if (!best || is_before(study, ranked, *best)) best = ranked;
  }
  if (best) summary.best = {best->trial, best->value};
  return summary;
}

bool agrees(const StudySummary& summary, const StudySummary& computed) {
  return summary.trials == computed.trials &&
         (!summary.is_best_known || summary.best == computed.best);
}

}  // namespace detol::inline knowledge
