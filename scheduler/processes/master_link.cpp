#include "scheduler/processes/master_link.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/exit_code.h"
#include "core/fault.h"
#include "core/file.h"
#include "core/log.h"
#include "scheduler/processes/signals.h"
#include "scheduler/processes/socket.h"

namespace detol::inline scheduler {
namespace {

constexpr double kHeartbeatS = 5;      // between heartbeats while training
constexpr double kIdleHeartbeatS = 1;  // while idle: a restarted master soon knows who is free
constexpr double kRepeatS = 2;         // between repeats of what was not answered
constexpr double kNoMasterS = 5;       // without a master, before checking whether the run is over
constexpr double kShutdownS = 5;       // for a training to end after a Shutdown
constexpr double kLeaveS = 20;         // for the master to take back what a leaving worker trains
constexpr double kLeaseS = 600;        // without a master, before the worker ends
constexpr double kTurnS = 0.5;         // the longest wait, and the resolution of step times

}  // namespace

Result<std::unique_ptr<MasterLink>> MasterLink::open(const MasterAddress& address) {
  DETOL_ASSIGN(Socket socket, Socket::dealer(address.endpoint, address.keys));
  return std::unique_ptr<MasterLink>(new MasterLink(std::move(socket), address));
}

MasterLink::MasterLink(Socket socket, MasterAddress address)
    : address_(std::move(address)),
      socket_(std::move(socket)),
      thread_([this] { run_loop_or_exit(); }) {}

MasterLink::~MasterLink() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  socket_.wake();
  thread_.join();
}

std::optional<message::Setup> MasterLink::join() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return setup_ || is_shut_down_; });
  return setup_;
}

void MasterLink::set_ready() {
  const std::lock_guard lock(mutex_);
  ready_ = true;
  ready_since_s_ = system_clock().now_s();
  socket_.wake();
}

std::optional<message::Train> MasterLink::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return offered_ || is_shut_down_; });
  if (is_shut_down_) return std::nullopt;
  is_stopped_ = false;
  return std::exchange(offered_, std::nullopt);
}

Verdict MasterLink::report(const EpochReport& report, bool more) {
  std::unique_lock lock(mutex_);
  const double after = group_.empty() ? 0 : group_.back().report.epochs();
  message::Report one{address_.worker, current_.trial, current_.attempt, report, more, after};
  if (more) {
    group_.push_back(std::move(one));
    return Verdict::kContinue;
  }
  verdict_.reset();
  post(std::move(one));
  changed_.wait(lock, [&] { return verdict_ || is_shut_down_; });
  group_.clear();
  is_stopped_ = verdict_ == Verdict::kStop;
  return verdict_.value_or(Verdict::kSuspend);
}

void MasterLink::end(const Evaluation& evaluation, message::Ended::Trouble trouble) {
  std::unique_lock lock(mutex_);
  if (is_stopped_) {
    farewell_ = message::Ended{address_.worker, finished_.trial, finished_.attempt, trouble, {}};
    return socket_.wake();
  }
  post(message::Ended{address_.worker, current_.trial, current_.attempt, trouble, evaluation});
  changed_.wait(
      lock, [&] { return !unanswered_ || is_shut_down_; });  // the next Train may be here already
}

AlgorithmChoices MasterLink::known() {
  const std::lock_guard lock(mutex_);
  return choices_;
}

std::optional<AlgorithmChoices> MasterLink::settle(const std::vector<TimedShape>& timed) {
  const auto is_settled = [&] {
    return std::ranges::all_of(
        timed, [&](const TimedShape& one) { return choices_.find(one.key) != nullptr; });
  };
  std::unique_lock lock(mutex_);
  post(message::Timed{address_.worker, timed});
  changed_.wait(lock, [&] { return is_settled() || is_shut_down_; });
  unanswered_.reset();
  if (!is_settled()) return std::nullopt;
  return choices_;
}

// REQUIRES: mutex_ is held.
void MasterLink::post(Message message) {
  unanswered_ = std::move(message);
  socket_.wake();
}

// Runs run_loop(). Ends the process if it throws, because the worker could not answer any more.
void MasterLink::run_loop_or_exit() try { run_loop(); } catch (const std::exception& error) {
  log_error("worker {}: {}", address_.worker, error.what());
  ::_exit(kExitInternal);
}

void MasterLink::run_loop() {
  last_received_s_ = stepped_s_ = system_clock().now_s();
  socket_.wake();  // to introduce itself at once
  for (;;) {
    if (socket_.wait(-1, patience(kTurnS))) unanswered_sent_s_ = -1e9;
    const std::lock_guard lock(mutex_);
    if (is_ending_) return;
    const double now_s = system_clock().now_s();
    while (const auto packet = socket_.receive()) {
      last_received_s_ = now_s;
      if (const auto message = decode(packet->bytes)) on_message(*message);
    }
    watch_progress(now_s);
    leave_if_asked(now_s);
    send_what_is_due(now_s);
    if (is_run_over(now_s)) shut_down();
    if (leaves_since_s_ && now_s - *leaves_since_s_ > patience(kLeaveS)) ::_exit(kExitResumable);
    if (is_shut_down_ && now_s - shut_down_s_ > patience(kShutdownS)) ::_exit(kExitDone);
    if (now_s - last_received_s_ > patience(kLeaseS)) {
      log_error("worker {}: no master for {} s; the worker ends", address_.worker, kLeaseS);
      ::_exit(kExitResumable);
    }
  }
}

void MasterLink::shut_down() {
  if (std::exchange(is_shut_down_, true)) return;
  shut_down_s_ = system_clock().now_s();
  control_.suspend = true;
  changed_.notify_all();
}

void MasterLink::leave_if_asked(double now_s) {
  if (leaves_since_s_ || !is_leave_requested()) return;
  leaves_since_s_ = now_s;
  control_.suspend = true;
  last_heartbeat_s_ = -1e9;
  if (!setup_ || !ready_) shut_down();  // the master has given it nothing
}

bool MasterLink::is_run_over(double now_s) const {
  if (address_.run_file.empty() || now_s - last_received_s_ < patience(kNoMasterS)) return false;
  constexpr std::size_t kLimit = 1 << 16;  // bytes
  const auto text = read_file(address_.run_file, kLimit);
  if (text) return text->find(address_.key) == std::string::npos;  // another run's
  return !std::filesystem::exists(address_.run_file);
}

void MasterLink::on_message(const Message& message) {
  if (std::holds_alternative<message::Identify>(message)) {
    socket_.send(encode(hello()));
    unanswered_sent_s_ = -1e9;
  } else if (const auto* setup = std::get_if<message::Setup>(&message)) {
    if (!setup_) setup_ = *setup;
    choices_.algorithms.insert(setup->choices.algorithms.begin(), setup->choices.algorithms.end());
  } else if (const auto* chosen = std::get_if<message::Chosen>(&message)) {
    choices_.algorithms.insert(chosen->choices.algorithms.begin(),
                               chosen->choices.algorithms.end());
  } else if (const auto* train = std::get_if<message::Train>(&message)) {
    const bool is_old = train->trial == finished_.trial && train->attempt <= finished_.attempt;
    if (current_.attempt == 0 && !is_old) {
      current_ = *train;
      offered_ = *train;
      group_.clear();
      control_.undecided = train->undecided;
      control_.suspend = leaves_since_s_.has_value();
      slowest_s_ = 0;
      stepped_s_ = system_clock().now_s();
    }
  } else if (const auto* suspend = std::get_if<message::Suspend>(&message)) {
    if (suspend->trial == current_.trial && suspend->attempt == current_.attempt)
      control_.suspend = true;
  } else if (std::holds_alternative<message::Shutdown>(message)) {
    shut_down();
  } else if (const auto* ack = std::get_if<message::ReportAck>(&message)) {
    const auto* report = unanswered_ ? std::get_if<message::Report>(&*unanswered_) : nullptr;
    if (report != nullptr && report->trial == ack->trial && report->attempt == ack->attempt &&
        report->report.epochs() == ack->epochs) {
      verdict_ = ack->verdict;
      control_.undecided = ack->undecided;
      unanswered_.reset();
      if (ack->verdict == Verdict::kStop) finish_current();
    }
  } else if (const auto* end_ack = std::get_if<message::EndAck>(&message)) {
    const auto* ended = unanswered_ ? std::get_if<message::Ended>(&*unanswered_) : nullptr;
    if (ended != nullptr && ended->trial == end_ack->trial && ended->attempt == end_ack->attempt) {
      unanswered_.reset();
      finish_current();
    }
  }
  changed_.notify_all();
}

void MasterLink::finish_current() {
  finished_ = std::exchange(current_, {});
  if (leaves_since_s_) last_heartbeat_s_ = -1e9;  // says so at once
}

void MasterLink::watch_progress(double now_s) {
  const std::uint64_t steps = control_.progress.load(std::memory_order_relaxed);
  const bool waits_for_the_master = unanswered_.has_value() || current_.attempt == 0;
  if (steps != steps_) slowest_s_ = std::max(slowest_s_, now_s - stepped_s_);
  if (steps != steps_ || waits_for_the_master) stepped_s_ = now_s;
  steps_ = steps;
}

void MasterLink::send_what_is_due(double now_s) {
  if (!setup_ || is_introduced_ != ready_) {
    if (setup_ || now_s - last_heartbeat_s_ >= patience(kIdleHeartbeatS)) {
      socket_.send(encode(hello()));
      last_heartbeat_s_ = now_s;
      is_introduced_ = ready_;
    }
    return;
  }
  if (const auto farewell = std::exchange(farewell_, std::nullopt)) {
    // Of a worker that leaves the master must hear nothing that would make it order again.
    if (current_.attempt == 0 && !leaves_since_s_) socket_.send(encode(*farewell));
  }
  if (unanswered_ && now_s - unanswered_sent_s_ >= patience(kRepeatS)) {
    send_unanswered();
    unanswered_sent_s_ = now_s;
  }
  if (now_s - last_heartbeat_s_ < patience(current_.attempt == 0 ? kIdleHeartbeatS : kHeartbeatS))
    return;
  socket_.send(encode(message::Heartbeat{.worker = address_.worker,
                                         .trial = current_.trial,
                                         .attempt = current_.attempt,
                                         .quiet_s = now_s - stepped_s_,
                                         .slowest_s = slowest_s_,
                                         .is_leaving = leaves_since_s_.has_value()}));
  last_heartbeat_s_ = now_s;
}

void MasterLink::send_unanswered() {
  if (std::holds_alternative<message::Report>(*unanswered_)) {
    for (const message::Report& report : group_) socket_.send(encode(report));
  }
  socket_.send(encode(*unanswered_));
}

message::Hello MasterLink::hello() const {
  return {.worker = address_.worker,
          .start = address_.start,
          .key = address_.key,
          .id = address_.id,
          .name = address_.name,
          .ranks = address_.ranks,
          .devices = address_.devices,
          .memory = address_.memory,
          .previous_status = address_.previous_status,
          .ready = ready_,
          .ready_s = ready_ ? system_clock().now_s() - ready_since_s_ : 0,
          .trial = current_.trial,
          .attempt = current_.attempt};
}

}  // namespace detol::inline scheduler
