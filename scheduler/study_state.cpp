#include "scheduler/study_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "encodings/study/study_config.h"

namespace detol::inline scheduler {
namespace {

// Returns whether the outcome of this trial may be reused for an equal one. A crash or a timeout
// may have been the machine's fault, and a trial that the budget ended was not measured to its end.
bool can_answer(const TrialRecord& entry) {
  return entry.is_over() && entry.failure != Cause::kCrashed && entry.failure != Cause::kTimeout &&
         entry.reason.cause != EndCause::kBudget;
}

// Returns whether a worker began to train the trial. A worker refuses one that is too large, or too
// slow, before its first step.
bool was_begun(const TrialRecord& entry) {
  return entry.attempt > 0 && entry.failure != Cause::kTooLarge;
}

// Counts an attempt that ended without an outcome, or is to be repeated, against its trial.
void count_loss(TrialRecord& trial, RequeueCause cause) {
  if (trial.state == TrialState::kFail) trial.oom_kills = 0;
  if (trial.is_over() || trial.epochs > trial.epochs_before) {
    trial.crashes = trial.losses = 0;
  } else if (cause != RequeueCause::kStopped && cause != RequeueCause::kDisk) {
    ++trial.losses;
    if (cause == RequeueCause::kCrashed) ++trial.crashes;
  }
  if (cause != RequeueCause::kOutOfMemory) return;
  ++trial.oom_kills;
  trial.micro_batches *= 2;
}

}  // namespace

std::string identity_of(const std::string& arch_hash,
                        std::span<const std::pair<std::string, Value>> params) {
  std::string identity = arch_hash;
  for (const auto& [name, value] : params) {
    if (!arch_hash.empty() && name.starts_with("architecture.")) continue;
    identity += fmt::format(";{}={}", name, detol::to_text(value));
  }
  return identity;
}

Result<void> StudyState::apply(const Event& event) {
  return std::visit([this](const auto& e) { return on(e); }, event);
}

const TrialRecord* StudyState::find(TrialId trial) const {
  return trial < trials_.size() ? &trials_[trial] : nullptr;
}

const TrialRecord* StudyState::answer_for(const std::string& identity) const {
  const auto found = answers_.find(identity);
  return found == answers_.end() ? nullptr : &trials_[found->second];
}

const TrialRecord* StudyState::first_open(const std::string& identity) const {
  const auto found = open_.find(identity);
  return found == open_.end() ? nullptr : &trials_[*found->second.begin()];
}

int StudyState::measurements(const std::string& identity) const {
  const auto found = measurements_.find(identity);
  return found == measurements_.end() ? 0 : found->second;
}

bool StudyState::teaches(const event::Told& told) const {
  return told.reason.cause != EndCause::kBudget || trials_[told.trial].epochs > 0;
}

const TrialRecord* StudyState::best() const {
  const bool has_one = !ranking_.empty() && !std::isnan(ranking_.begin()->rank.value);
  return has_one ? &trials_[ranking_.begin()->rank.trial] : nullptr;
}

Result<TrialRecord*> StudyState::entry(TrialId trial, std::string_view event) {
  if (trial < trials_.size()) return &trials_[trial];
  return fail(ErrorCode::kStorage,
              fmt::format("the ledger has '{}' for trial {}, which was never asked; check the "
                          "database with `detol db check`",
                          event, trial));
}

void StudyState::count(const TrialRecord& entry, int sign) {
  if (was_begun(entry)) spent_.trials += sign;
  if (entry.attempt > 0 && (!entry.is_over() || can_answer(entry)))
    measurements_[entry.identity] += sign;
  auto& ids = ids_[static_cast<std::size_t>(entry.state)];
  if (sign > 0)
    ids.insert(entry.trial.id);
  else
    ids.erase(entry.trial.id);
  if (entry.state == TrialState::kFail && was_begun(entry)) failed_after_start_ += sign;
  if (entry.is_over() && entry.state != TrialState::kFail && entry.attempt > 0) succeeded_ += sign;
  if (entry.epochs == 0 || entry.state == TrialState::kFail || entry.breaks_constraints) return;
  const Rank rank{objectives_.front().direction,
                  {entry.values.front(), entry.state == TrialState::kComplete, entry.trial.id}};
  if (sign > 0)
    ranking_.insert(rank);
  else
    ranking_.erase(rank);
}

void StudyState::close(const TrialRecord& entry) {
  const auto found = open_.find(entry.identity);
  if (found == open_.end()) return;
  found->second.erase(entry.trial.id);
  if (found->second.empty()) open_.erase(found);
}

bool StudyState::Rank::operator<(const Rank& other) const {
  return is_before(direction, rank, other.rank);
}

Result<void> StudyState::on(const event::Asked& asked) {
  auto genome = space_.genome(asked.params);
  if (!genome || asked.trial != trials_.size()) {
    return fail(ErrorCode::kStorage,
                fmt::format("trial {} of the ledger does not fit the study's space: {}",
                            asked.trial, genome ? "out of order" : genome.error().message));
  }
  TrialRecord entry;
  entry.trial = {.id = asked.trial, .genome = *genome, .proposer = asked.proposer};
  entry.identity = identity_of(asked.arch_hash, asked.params);
  entry.inherits = asked.inherits;
  open_[entry.identity].insert(asked.trial);
  trials_.push_back(std::move(entry));
  count(trials_.back(), +1);
  return {};
}

Result<void> StudyState::on(const event::Started& started) {
  DETOL_ASSIGN(TrialRecord * trial, entry(started.trial, "started"));
  count(*trial, -1);
  trial->state = TrialState::kRunning;
  trial->attempt = started.attempt;
  trial->group_size = started.group_size;
  trial->worker = started.worker;
  trial->micro_batches = started.micro_batches;
  trial->epochs_before = trial->epochs;
  count(*trial, +1);
  return {};
}

Result<void> StudyState::on(const event::Reported& reported) {
  DETOL_ASSIGN(TrialRecord * trial, entry(reported.trial, "reported"));
  count(*trial, -1);
  if (trial->attempt > 0) untrained_in_row_ = 0;
  spent_.work += reported.work - trial->work;
  trial->epochs = reported.epochs();
  trial->unreported_s = 0;
  trial->work = reported.work;
  trial->train_s += reported.train_s / trial->group_size;
  if (reported.is_best || trial->best_epoch == 0) take_values(*trial, reported);
  count(*trial, +1);
  return {};
}

void StudyState::take_values(TrialRecord& trial, const event::Reported& reported) const {
  trial.best_epoch = reported.epochs();
  trial.values.assign(objectives_.size(), std::numeric_limits<double>::quiet_NaN());
  trial.breaks_constraints = false;
  trial.excesses.assign(constraints_.size(), std::numeric_limits<double>::infinity());
  for (const auto& [name, value] : reported.metrics) {
    for (std::size_t i = 0; i < objectives_.size(); ++i) {
      if (name == objectives_[i].metric) trial.values[i] = value;
    }
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      if (name == constraints_[i].metric) trial.excesses[i] = excess_of(constraints_[i], value);
    }
    if (name == kViolationMetric) trial.breaks_constraints = value != 0;
  }
}

Result<void> StudyState::on(const event::Told& told) {
  DETOL_ASSIGN(TrialRecord * trial, entry(told.trial, "told"));
  count(*trial, -1);
  trial->state = told.state;
  trial->failure = cause_of(told.outcome);
  trial->reason = told.reason;
  trial->outcome = told.outcome;
  const EndReason& reason = told.reason;
  const bool is_answered = reason.cause == EndCause::kSameTrial && reason.detail.empty();
  if (is_answered && reason.same_as < trials_.size())
    trial->excesses = trials_[reason.same_as].excesses;
  if (auto* measured = std::get_if<Measured>(&*trial->outcome))
    measured->excesses = trial->excesses;
  close(*trial);
  trial->unreported_s = std::max(trial->unreported_s, told.unreported_s);
  count(*trial, +1);
  untrained_in_row_ = was_begun(*trial) ? 0 : untrained_in_row_ + 1;
  if (can_answer(*trial)) answers_.emplace(trial->identity, told.trial);
  return {};
}

Result<void> StudyState::on(const event::Requeued& requeued) {
  DETOL_ASSIGN(TrialRecord * trial, entry(requeued.trial, "requeued"));
  count(*trial, -1);
  count_loss(*trial, requeued.reason.cause);
  open_[trial->identity].insert(requeued.trial);
  trial->state = TrialState::kWaiting;
  trial->unreported_s = std::max(trial->unreported_s, requeued.unreported_s);
  trial->failure.reset();
  trial->reason = {};
  // The outcome of this trial no longer holds, neither for it nor for equal trials.
  const auto answer = answers_.find(trial->identity);
  if (answer != answers_.end() && answer->second == requeued.trial) answers_.erase(answer);
  count(*trial, +1);
  return {};
}

Result<void> StudyState::on(const event::Accounted& accounted) {
  spent_.wall_s = accounted.wall_s;
  spent_.device_s = accounted.device_s;
  return {};
}

}  // namespace detol::inline scheduler
