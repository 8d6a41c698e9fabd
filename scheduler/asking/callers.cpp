#include "scheduler/asking/callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/log.h"
#include "core/table.h"
#include "scheduler/asking/told_metrics.h"

namespace detol::inline scheduler {
namespace {

constexpr double kLookForLostS = 5;

}  // namespace

Callers::Callers(const StudyConfig& config, Clock& clock, PostedCalls::Call wake)
    : config_(config), clock_(clock), calls_(std::move(wake)), held_(clock) {}

void Callers::attach(const StudyState& state, std::span<const Event> events,
                     std::span<const TrialId> own) {
  state_ = &state;
  held_.adopt(state, events, own);
}

void Callers::ask(Ask ask, Answer<AskAnswer> answer) {
  calls_.post([this, ask = std::move(ask), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    asks_.add(std::move(ask), std::move(answer));
  });
}

void Callers::report(StepReport report, Answer<bool> answer) {
  calls_.post([this, report = std::move(report), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    take(std::move(report), std::move(answer));
  });
}

void Callers::tell(Told told, Answer<TellAnswer> answer) {
  calls_.post([this, told = std::move(told), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    take(std::move(told), std::move(answer));
  });
}

void Callers::release_others(const std::string& caller, std::vector<TrialId> but) {
  calls_.post([this, caller, but = std::move(but)] { give_up(held_.take_from(caller, but)); });
}

void Callers::with_state(Answer<const StudyState*> answer) {
  calls_.post([this, answer = std::move(answer)] {
    if (ended_) return answer(tl::unexpected(*ended_));
    answer(state_);
  });
}

// Returns the trial that a caller has, as HeldTrials::find(). Errors (kUsage): no such trial, too.
Result<HeldTrial*> Callers::find(TrialId trial, int attempt) {
  const TrialRecord* record = state_->find(trial);
  if (record == nullptr)
    return fail(ErrorCode::kUsage, fmt::format("study {} has no trial {}", config_.study, trial));
  return held_.find(*record, attempt);
}

void Callers::take(StepReport report, Answer<bool> answer) {
  if (const auto is_there = check_told(config_, report.metrics); !is_there)
    return answer(tl::unexpected(is_there.error()));
  const auto found = find(report.trial, report.attempt);
  if (!found) return answer(tl::unexpected(found.error()));
  if (*found == nullptr) return answer(true);
  const auto waiting = reports_.lower_bound({report.trial, 0});
  if (waiting != reports_.end() && waiting->first.first == report.trial)
    return this->report(std::move(report), std::move(answer));  // after the answer to that one
  HeldTrial& one = **found;
  const TrialRecord& trial = *state_->find(report.trial);
  add_costs(config_, trial.trial.genome, report.metrics);
  if (auto why = what_diverged(config_, report.metrics)) {
    return take({report.trial, one.attempt, Told::Failure{Cause::kDiverged, *std::move(why)}},
                [answer = std::move(answer)](const Result<TellAnswer>& told) {
                  answer(told.map([](const TellAnswer&) { return true; }));
                });
  }
  const int done = static_cast<int>(trial.epochs);
  if (report.step == 0 && done == 0) one.counts_from_0 = true;
  const int step = report.step > 0 ? report.step + (one.counts_from_0 ? 1 : 0) : done + 1;
  if (step <= done && !std::exchange(has_warned_of_a_repeat_, true))
    log_warning(
        "trial {} reports step {} again, which changes nothing: {} steps are reported already",
        report.trial, report.step, done);
  const double now_s = clock_.now_s();
  EpochReport epoch{.epoch = step,
                    .metrics = std::move(report.metrics),
                    .train_s = now_s - std::exchange(one.since_s, now_s)};
  epoch.is_best = is_best_told(config_, trial, epoch.metrics);
  reports_.emplace(std::pair(report.trial, step), std::move(answer));
  events_.push_back(
      message::Report{.trial = report.trial, .attempt = one.attempt, .report = std::move(epoch)});
}

// Returns what a tell means for the driver. Errors (kUsage).
Result<PoolEvent> Callers::event_of(Told told, int attempt) const {
  const auto ended = [&](Evaluation evaluation) -> PoolEvent {
    return message::Ended{
        .trial = told.trial, .attempt = attempt, .evaluation = std::move(evaluation)};
  };
  if (auto* failure = std::get_if<Told::Failure>(&told.outcome))
    return ended({Evaluation::End::kFailed, failure->cause, std::move(failure->reason)});
  if (std::holds_alternative<Told::Released>(told.outcome))
    return ended({.end = Evaluation::End::kSuspended, .reason = {}});
  if (std::holds_alternative<Told::Pruned>(told.outcome)) {
    if (state_->find(told.trial)->epochs > 0)
      return Scored{.trial = told.trial, .attempt = attempt, .is_early = true};
    return fail(ErrorCode::kUsage,
                fmt::format("trial {} is not pruned: it has reported nothing yet; tell its value, "
                            "or that it failed",
                            told.trial));
  }
  auto& metrics = std::get<std::vector<Metric>>(told.outcome);
  DETOL_TRY(check_told(config_, metrics));
  add_costs(config_, state_->find(told.trial)->trial.genome, metrics);
  if (auto why = what_diverged(config_, metrics))
    return ended({Evaluation::End::kFailed, Cause::kDiverged, *std::move(why)});
  return Scored{told.trial, attempt, std::move(metrics)};
}

void Callers::take(Told told, Answer<TellAnswer> answer) {
  const TrialId trial = told.trial;
  const auto found = find(trial, told.attempt);
  if (!found) return answer(tl::unexpected(found.error()));
  if (*found == nullptr) {
    const TrialRecord& record = *state_->find(trial);
    const bool has_heard = told.attempt != 0 && held_.was_ended(trial);  // that it ended
    if (!record.is_over()) return answer(TellAnswer{TrialState::kPruned});
    return answer(TellAnswer{record.state, !has_heard && !is_known(config_, record, told)});
  }
  auto event = event_of(std::move(told), (*found)->attempt);
  if (!event) return answer(tl::unexpected(event.error()));
  events_.push_back(*std::move(event));
  tells_.emplace(trial, std::move(answer));
}

// Returns whether there are any.
bool Callers::give_up(const std::vector<Lost>& lost) {
  events_.insert(events_.end(), lost.begin(), lost.end());
  return !lost.empty();
}

// Gives up the trials of callers that are gone. Returns whether there are any.
bool Callers::look_for_lost() {
  looked_s_ = clock_.now_s();
  return give_up(held_.take_from_the_gone());
}

std::vector<PoolEvent> Callers::collect() {
  calls_.run();
  if (clock_.now_s() - looked_s_ >= kLookForLostS) look_for_lost();
  return std::exchange(events_, {});
}

std::vector<PoolEvent> Callers::wait(double at_most_s) {
  if (!calls_.are_announced_elsewhere() && events_.empty() && at_most_s > 0) calls_.wait(at_most_s);
  return collect();
}

void Callers::start(int worker, const message::Train& train) {
  const std::string* caller = asks_.caller_of(worker);
  if (caller == nullptr) {  // it was answered while the ledger could not be written
    events_.push_back(Lost{train.trial, train.attempt, {RequeueCause::kLost, kAnswerLost}});
    return;
  }
  held_.give(train.trial, train.attempt, *caller);
  asks_.give(worker, {.trial = train.trial,
                      .attempt = train.attempt,
                      .seed = train.seed,
                      .epochs = train.acknowledged,
                      .folder = train.folder,
                      .genome = state_->find(train.trial)->trial.genome,
                      .study = config_.study});
}

void Callers::decline(int worker, TrialId trial) {
  if (asks_.caller_of(worker) == nullptr) return;  // likewise
  const TrialRecord& record = *state_->find(trial);
  asks_.give(worker, {.trial = trial,
                      .genome = record.trial.genome,
                      .study = config_.study,
                      .known = record.state});
}

void Callers::acknowledge(const message::ReportAck& ack) {
  const bool ends = ack.verdict != Verdict::kContinue;
  if (ends) held_.end(ack.trial);
  const auto found = reports_.find({ack.trial, ack.epochs});
  if (found == reports_.end()) return;
  const auto answer = std::move(found->second);
  reports_.erase(found);
  answer(ends);
  if (has_calls()) announce();  // a report that waited for this answer
}

void Callers::acknowledge(const message::EndAck& ack) {
  held_.drop(ack.trial, ack.attempt);
  const auto [first, last] = tells_.equal_range(ack.trial);
  std::vector<Answer<TellAnswer>> answers;
  for (auto one = first; one != last; ++one) answers.push_back(std::move(one->second));
  tells_.erase(first, last);
  for (const auto& answer : answers) answer(TellAnswer{state_->find(ack.trial)->state});
}

void Callers::suspend() {
  if (!is_closing_) return;  // a function cannot be interrupted: it may tell its value yet
  for (const Claim& own : held_.own()) {
    message::Ended ended{.trial = own.trial, .attempt = own.attempt, .evaluation = {}};
    ended.evaluation.end = Evaluation::End::kSuspended;
    events_.push_back(std::move(ended));
  }
}

int Callers::workers() {
  return std::max(1, held_.count() + static_cast<int>(asks_.slots().size()));
}

void Callers::settle(const Driver& driver) {
  const Driver::Supply supply = asks_.is_empty() ? Driver::Supply::kComing : driver.supply();
  if (supply == Driver::Supply::kComing) return;
  if (look_for_lost()) return announce();  // what was theirs is there for others
  const bool is_none = supply == Driver::Supply::kNone;
  asks_.settle(is_none ? std::optional(driver.why_none()) : std::nullopt);
}

void Callers::end(const Error& error) {
  ended_ = error;
  collect();
  const auto failed = tl::unexpected(error);
  asks_.fail(error);
  for (auto& [key, answer] : std::exchange(reports_, {})) answer(failed);
  for (auto& [trial, answer] : std::exchange(tells_, {})) answer(failed);
}

}  // namespace detol::inline scheduler
