#include "scheduler/asking/callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/log.h"
#include "core/table.h"
#include "scheduler/asking/told_metrics.h"

namespace detol::inline scheduler {
namespace {

constexpr double kLookForLostS = 5;
constexpr const char* kAnswerLost = "its caller has never heard of it";

}  // namespace

Callers::Callers(const StudyConfig& config, Clock& clock, std::function<void()> wake)
    : config_(config), clock_(clock), wake_(std::move(wake)), held_at_s_(clock.now_s()) {}

void Callers::attach(const StudyState& state, std::span<const Event> events,
                     std::span<const TrialId> own) {
  state_ = &state;
  std::map<TrialId, Outstanding> last;
  for (const Event& event : events) {
    if (const auto* started = std::get_if<event::Started>(&event))
      last[started->trial] = {started->attempt, started->worker, true, 0};
  }
  for (const TrialId id : state.in_state(TrialState::kRunning)) {
    const Outstanding& one = last[id];
    const bool is_own = one.caller == self_;
    const bool is_kept = is_own ? std::ranges::find(own, id) != own.end() : may_live(one.caller);
    if (!is_caller(one.caller) || !is_kept) continue;
    outstanding_[id] = one;
    outstanding_[id].since_s = clock_.now_s();
  }
}

void Callers::post(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(call));
}

bool Callers::has_calls() {
  const std::lock_guard lock(mutex_);
  return !posted_.empty();
}

void Callers::announce() {
  {
    const std::lock_guard lock(mutex_);
    is_announced_ = true;
  }
  announced_.notify_one();
  if (wake_) wake_();
}

void Callers::wait_for_calls(double at_most_s) {
  std::unique_lock lock(mutex_);
  announced_.wait_for(lock, std::chrono::duration<double>(at_most_s),
                      [this] { return is_announced_; });
}

void Callers::ask(Ask ask, Answer<AskAnswer> answer) {
  post([this, ask = std::move(ask), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    Pending pending{.ask = std::move(ask), .answer = std::move(answer)};
    if (pending.ask.wish) pending.ask.count = 1;
    for (int i = 0; i < pending.ask.count; ++i) pending.slots.push_back(next_slot_++);
    asks_.push_back(std::move(pending));
    if (asks_.back().slots.empty()) this->answer(std::prev(asks_.end()));
  });
}

void Callers::report(StepReport report, Answer<bool> answer) {
  post([this, report = std::move(report), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    take(std::move(report), std::move(answer));
  });
}

void Callers::tell(Told told, Answer<TellAnswer> answer) {
  post([this, told = std::move(told), answer = std::move(answer)]() mutable {
    if (ended_) return answer(tl::unexpected(*ended_));
    take(std::move(told), std::move(answer));
  });
}

void Callers::release_others(const std::string& caller, std::vector<TrialId> but) {
  post([this, caller, but = std::move(but)] {
    held_s();
    std::erase_if(outstanding_, [&](const auto& item) {
      const auto& [trial, one] = item;
      const bool is_lost =
          one.caller == caller && one.is_adopted && std::ranges::find(but, trial) == but.end();
      if (is_lost) events_.push_back(Lost{trial, one.attempt, {RequeueCause::kLost, kAnswerLost}});
      return is_lost;
    });
  });
}

void Callers::with_state(Answer<const StudyState*> answer) {
  post([this, answer = std::move(answer)] {
    if (ended_) return answer(tl::unexpected(*ended_));
    answer(state_);
  });
}

// Returns the trial that a caller has; nullptr if it is over, or if the caller knows that its
// attempt is: a paused trial may have been resumed by another.
Result<Callers::Outstanding*> Callers::find(TrialId trial, int attempt) {
  const TrialRecord* record = state_->find(trial);
  if (record == nullptr)
    return fail(ErrorCode::kUsage, fmt::format("study {} has no trial {}", config_.study, trial));
  const auto stopped = stopped_.find(trial);
  if (attempt != 0 && stopped != stopped_.end() && attempt <= stopped->second) return nullptr;
  const auto found = outstanding_.find(trial);
  if (found != outstanding_.end() && (attempt == 0 || attempt == found->second.attempt))
    return &found->second;
  if (record->is_over()) return nullptr;
  const bool waits = record->state == TrialState::kWaiting;
  return fail(ErrorCode::kUsage,
              fmt::format("trial {} {}", trial,
                          waits ? "waits to be asked for again: whoever had it was gone"
                          : found != outstanding_.end()
                              ? "was given to another caller meanwhile"
                              : fmt::format("is evaluated by worker {}", record->worker)));
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
  Outstanding& one = **found;
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
    const bool has_heard = told.attempt != 0 && stopped_.contains(trial);  // that it ended
    if (!record.is_over()) return answer(TellAnswer{TrialState::kPruned});
    return answer(TellAnswer{record.state, !has_heard && !is_known(config_, record, told)});
  }
  auto event = event_of(std::move(told), (*found)->attempt);
  if (!event) return answer(tl::unexpected(event.error()));
  events_.push_back(*std::move(event));
  tells_.emplace(trial, std::move(answer));
}

// Gives up the trials of callers that are gone. Returns whether there are any.
bool Callers::look_for_lost() {
  looked_s_ = clock_.now_s();
  const std::size_t before = events_.size();
  for (auto one = outstanding_.begin(); one != outstanding_.end();) {
    const auto next = std::next(one);
    if (one->second.caller != self_ && !may_live(one->second.caller)) {
      events_.push_back(Lost{
          one->first, one->second.attempt, {RequeueCause::kLost, "whoever asked for it is gone"}});
      forget(one->first);
    }
    one = next;
  }
  return events_.size() > before;
}

std::vector<PoolEvent> Callers::collect() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
    is_announced_ = false;
  }
  for (const auto& call : calls) call();
  if (clock_.now_s() - looked_s_ >= kLookForLostS) look_for_lost();
  return std::exchange(events_, {});
}

std::vector<PoolEvent> Callers::wait(double at_most_s) {
  if (!wake_ && events_.empty() && at_most_s > 0) wait_for_calls(at_most_s);
  return collect();
}

std::vector<Claim> Callers::claims() {
  std::vector<Claim> claims;
  for (const auto& [trial, one] : outstanding_) claims.push_back({trial, one.attempt});
  return claims;
}

std::vector<Slot> Callers::free() {
  std::vector<Slot> slots;
  for (const Pending& pending : asks_) {
    for (const int slot : pending.slots)
      slots.push_back({.worker = slot, .name = pending.ask.caller, .wish = pending.ask.wish});
  }
  return slots;
}

Callers::Asks::iterator Callers::asker(int worker) {
  return std::ranges::find_if(asks_, [worker](const Pending& pending) {
    return std::ranges::find(pending.slots, worker) != pending.slots.end();
  });
}

void Callers::answer(Asks::iterator ask) {
  Pending done = std::move(*ask);
  asks_.erase(ask);
  done.answer(std::move(done.got));
}

void Callers::give(Asks::iterator ask, int worker, AskedTrial trial) {
  std::erase(ask->slots, worker);
  ask->got.trials.push_back(std::move(trial));
  if (ask->slots.empty()) answer(ask);
}

void Callers::start(int worker, const message::Train& train) {
  const auto ask = asker(worker);
  if (ask == asks_.end()) {  // it was answered while the ledger could not be written
    events_.push_back(Lost{train.trial, train.attempt, {RequeueCause::kLost, kAnswerLost}});
    return;
  }
  held_s();
  outstanding_[train.trial] = {train.attempt, ask->ask.caller, false, clock_.now_s()};
  give(ask, worker,
       {.trial = train.trial,
        .attempt = train.attempt,
        .seed = train.seed,
        .epochs = train.acknowledged,
        .folder = train.folder,
        .genome = state_->find(train.trial)->trial.genome,
        .study = config_.study});
}

void Callers::decline(int worker, TrialId trial) {
  const auto ask = asker(worker);
  if (ask == asks_.end()) return;  // likewise
  const TrialRecord& record = *state_->find(trial);
  give(ask, worker,
       {.trial = trial,
        .genome = record.trial.genome,
        .study = config_.study,
        .known = record.state});
}

void Callers::acknowledge(const message::ReportAck& ack) {
  const bool ends = ack.verdict != Verdict::kContinue;
  const auto one = outstanding_.find(ack.trial);
  if (ends && one != outstanding_.end()) stopped_[ack.trial] = one->second.attempt;
  if (ends) forget(ack.trial);
  const auto found = reports_.find({ack.trial, ack.epochs});
  if (found == reports_.end()) return;
  const auto answer = std::move(found->second);
  reports_.erase(found);
  answer(ends);
  if (has_calls()) announce();  // a report that waited for this answer
}

void Callers::acknowledge(const message::EndAck& ack) {
  const auto found = outstanding_.find(ack.trial);
  if (found != outstanding_.end() && found->second.attempt == ack.attempt) forget(ack.trial);
  const auto [first, last] = tells_.equal_range(ack.trial);
  std::vector<Answer<TellAnswer>> answers;
  for (auto one = first; one != last; ++one) answers.push_back(std::move(one->second));
  tells_.erase(first, last);
  for (const auto& answer : answers) answer(TellAnswer{state_->find(ack.trial)->state});
}

void Callers::forget(TrialId trial) {
  held_s();
  outstanding_.erase(trial);
}

void Callers::drop(TrialId trial) {
  forget(trial);
}

void Callers::suspend() {
  if (!is_closing_) return;  // a function cannot be interrupted: it may tell its value yet
  for (const auto& [trial, one] : outstanding_) {
    if (one.caller != self_) continue;
    message::Ended ended{.trial = trial, .attempt = one.attempt, .evaluation = {}};
    ended.evaluation.end = Evaluation::End::kSuspended;
    events_.push_back(std::move(ended));
  }
}

bool Callers::outlives(TrialId trial) const {
  const auto found = outstanding_.find(trial);
  return found != outstanding_.end() && found->second.caller != self_;
}

double Callers::held_s() {
  const double now_s = clock_.now_s();
  held_s_ += static_cast<double>(outstanding_.size()) * (now_s - held_at_s_);
  held_at_s_ = now_s;
  return held_s_;
}

int Callers::workers() {
  std::size_t slots = 0;
  for (const Pending& pending : asks_) slots += pending.slots.size();
  return std::max(1, static_cast<int>(outstanding_.size() + slots));
}

void Callers::settle(const Driver& driver) {
  const Driver::Supply supply = asks_.empty() ? Driver::Supply::kComing : driver.supply();
  if (supply == Driver::Supply::kComing) return;
  if (look_for_lost()) return announce();  // what was theirs is there for others
  for (auto ask = asks_.begin(); ask != asks_.end();) {
    const auto next = std::next(ask);
    const bool is_none = supply == Driver::Supply::kNone;
    if (is_none) ask->got.none = driver.why_none();
    if (is_none || !ask->ask.waits || !ask->got.trials.empty()) answer(ask);
    ask = next;
  }
}

void Callers::end(const Error& error) {
  ended_ = error;
  collect();
  const auto failed = tl::unexpected(error);
  for (Pending& pending : std::exchange(asks_, {})) pending.answer(failed);
  for (auto& [key, answer] : std::exchange(reports_, {})) answer(failed);
  for (auto& [trial, answer] : std::exchange(tells_, {})) answer(failed);
}

}  // namespace detol::inline scheduler
