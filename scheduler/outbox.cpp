#include "scheduler/outbox.h"

#include <map>

#include "core/fault.h"
#include "core/log.h"

namespace detol::inline scheduler {
namespace {

constexpr double kAccountEveryS = 5;  // a kill loses at most this much of the time used

}  // namespace

std::vector<Slot> Outbox::slots_after_commit() const {
  std::map<int, Slot> slots;
  const auto add = [&](const Slot& slot) { slots.emplace(slot.worker, slot); };
  for (const Slot& slot : parts_.pool.free()) add(slot);
  const auto add_freed = [&](TrialId trial, int attempt) {
    if (const auto slot = parts_.pool.slot_after(trial, attempt)) add(*slot);
  };
  for (const message::ReportAck& ack : report_acks_)
    if (ack.verdict == Verdict::kStop) add_freed(ack.trial, ack.attempt);
  for (const message::EndAck& ack : end_acks_) add_freed(ack.trial, ack.attempt);
  std::vector<Slot> all;
  for (auto& [worker, slot] : slots) all.push_back(std::move(slot));
  return all;
}

bool Outbox::is_due() const {
  return !batch_.empty() || parts_.clock.now_s() - committed_s_ >= kAccountEveryS;
}

void Outbox::remove_account() {
  const bool is_accounted =
      !batch_.empty() && std::holds_alternative<event::Accounted>(batch_.back());
  if (is_accounted) batch_.pop_back();
}

Result<bool> Outbox::write() {
  Result<void> done = parts_.ledger.append(parts_.study, batch_, facts_);
  if (!done && !parts_.ledger.may_retry()) return tl::unexpected(done.error());
  const bool was_paused = std::exchange(is_paused_, !done);
  if (!done && !was_paused)
    log_warning("{}; the search waits until it can write", done.error().message);
  if (!done) return false;
  if (was_paused) log_info("the search can write again, and resumes");
  facts_.clear();
  committed_s_ = parts_.clock.now_s();
  fault_or_throw("master.answer");
  return true;
}

void Outbox::send(const StudyState& state) {
  if (!chosen_.algorithms.empty()) parts_.pool.broadcast(std::exchange(chosen_, {}));
  for (const message::ReportAck& ack : std::exchange(report_acks_, {}))
    parts_.pool.acknowledge(ack);
  for (const message::EndAck& ack : std::exchange(end_acks_, {})) parts_.pool.acknowledge(ack);
  for (const Start& start : std::exchange(starts_, {}))
    parts_.pool.start(start.worker, start.train);
  for (const auto& [worker, trial] : std::exchange(declined_, {}))
    parts_.pool.decline(worker, trial);
  for (const RunRequest& request : std::exchange(answered_, {})) parts_.answered(request);
  if (!batch_.empty()) fault_or_throw("master.answered");
  for (const Event& event : std::exchange(batch_, {})) {
    for (Observer* observer : parts_.observers) observer->happened(event, state);
  }
}

}  // namespace detol::inline scheduler
