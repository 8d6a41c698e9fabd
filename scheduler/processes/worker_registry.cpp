#include "scheduler/processes/worker_registry.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "core/exit_code.h"
#include "core/log.h"
#include "scheduler/processes/oom.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/supervisor_protocol.h"

namespace detol::inline scheduler {
namespace {

constexpr int kFailedStarts = 3;  // in a row, after which the study cannot run here
constexpr int kMostDoublings = 5;
constexpr double kFirstStartDelayS = 0.2;  // before a start after a failed one; doubles

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("its worker ended by signal {}", WTERMSIG(status));
  return fmt::format("its worker ended with exit code {}", WEXITSTATUS(status));
}

// Returns whether SIGKILL ended a worker. The exit code of a launcher shows the signal that ended a
// rank: Open MPI adds 128 as a shell does, MPICH gives the bare number.
bool is_killed(int status, int ranks) {
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL;
  const int code = WEXITSTATUS(status);
  return ranks > 1 && (code == 128 + SIGKILL || code == SIGKILL);
}

}  // namespace

WorkerRegistry::WorkerRegistry(WorkerRegistrySettings settings, Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      counted_until_s_(settings_.counted_until_s.value_or(clock.now_s())),
      oom_kills_(detol::oom_kills()) {
  for (int i = 0; i < settings_.workers; ++i) workers_[i];
}

Worker* WorkerRegistry::training(TrialId trial, int attempt) {
  for (auto& [number, worker] : workers_) {
    if (worker.train.trial == trial && worker.train.attempt == attempt) return &worker;
  }
  return nullptr;
}

void WorkerRegistry::turn(std::vector<PoolEvent>& events) {
  hear_supervisor(events);
  if (is_retired_ || workers_join()) return;
  for (auto& [number, worker] : workers_) {
    if (worker.start_number != 0 || worker.is_starting || clock_.now_s() < worker.next_start_s)
      continue;
    worker.is_starting =
        send_packet(settings_.supervisor, supervisor::Command{supervisor::Command::kStart, number});
  }
}

Worker* WorkerRegistry::register_worker(const message::Hello& hello, std::vector<PoolEvent>& events,
                                        std::string& why) {
  const auto found = workers_.find(hello.worker);
  if (found == workers_.end() || hello.key != settings_.key || hello.start <= 0) {
    why = fmt::format("a worker {} that is not of this run", hello.worker);
    return nullptr;
  }
  Worker& worker = found->second;
  if (!workers_join() && worker.start_number != hello.start) {
    why = fmt::format("a worker {} that was not started here", hello.worker);
    return nullptr;
  }
  if (worker.start_number != hello.start) {
    if (worker.start_number != 0) end(hello.worker, "another worker took its place", events);
    worker.start_number = hello.start;
    worker.alive_since_s = clock_.now_s();
  }
  if (hello.ready && !std::exchange(worker.is_ready, true)) {
    worker.ready_s = std::max(counted_until_s_, clock_.now_s() - hello.ready_s);
    failed_starts_ = 0;
  }
  return &worker;
}

void WorkerRegistry::end(int number, std::string why, std::vector<PoolEvent>& events) {
  workers_.at(number).kill_reason = std::move(why);
  if (workers_join())
    on_exit(number, SIGTERM, events);
  else
    send_packet(settings_.supervisor, supervisor::Command{supervisor::Command::kKill, number});
}

// Returns the devices of a worker. Several workers may share one, which is held once.
std::vector<int> WorkerRegistry::devices_of(int number) const {
  std::vector<int> devices;
  for (int rank = 0; rank < settings_.group_size; ++rank) {
    const int index = number * settings_.group_size + rank;
    devices.push_back(settings_.gpus > 0 ? index % settings_.gpus : index);
  }
  return devices;
}

std::map<int, double> WorkerRegistry::uncounted_s() const {
  const double now_s = clock_.now_s();
  std::map<int, double> held;
  for (const auto& [number, worker] : workers_) {
    if (!worker.is_ready) continue;
    for (const int device : devices_of(number)) {
      const auto counted = device_counted_until_s_.find(device);
      const double since_s = counted == device_counted_until_s_.end()
                                 ? worker.ready_s
                                 : std::max(worker.ready_s, counted->second);
      held[device] = std::max(held[device], now_s - since_s);
    }
  }
  return held;
}

// Adds the time for which a worker held its devices to the sum, before it releases them.
void WorkerRegistry::count_devices(int number) {
  std::map<int, double> held = uncounted_s();
  for (const int device : devices_of(number)) {
    held_s_ += std::exchange(held[device], 0);
    device_counted_until_s_[device] = clock_.now_s();
  }
}

double WorkerRegistry::held_s() const {
  double sum = held_s_;
  for (const auto& [device, held_s] : uncounted_s()) sum += held_s;
  return sum;
}

int WorkerRegistry::devices() const {
  std::set<int> devices;
  const bool are_replaced = !is_retired_ && !workers_join();
  for (const auto& [number, worker] : workers_) {
    if (!worker.is_ready && !are_replaced) continue;
    const std::vector<int> own = devices_of(number);
    devices.insert(own.begin(), own.end());
  }
  return static_cast<int>(devices.size());
}

void WorkerRegistry::hear_supervisor(std::vector<PoolEvent>& events) {
  while (const auto event = next_event(settings_.supervisor)) {
    if (event->kind == supervisor::Event::kStopRequested) {
      events.emplace_back(StopRequest{});
    } else if (event->kind == supervisor::Event::kExited) {
      on_exit(event->worker, event->status, events);
    } else {  // may be beyond `workers`, if -j became smaller
      Worker& worker = workers_[event->worker] = Worker{};
      worker.start_number = event->start;
      worker.heard_s = worker.alive_since_s = clock_.now_s();
    }
  }
}

void WorkerRegistry::on_exit(int number, int status, std::vector<PoolEvent>& events) {
  count_devices(number);
  const Worker was = std::exchange(workers_[number], Worker{});
  const std::int64_t oom_kills_before = std::exchange(oom_kills_, detol::oom_kills());
  const bool killed = is_killed(status, settings_.group_size);
  const bool out_of_memory = killed && was.kill_reason.empty() && oom_kills_ > oom_kills_before;
  const std::string reason = take_exit_reason(settings_.folder, number);
  const std::string why = killed || reason.empty() ? how_it_ended(status) : reason;
  if (!was.is_ready && was.kill_reason.empty() && (!killed || out_of_memory))
    on_failed_start(number, status, why, events);
  if (was.train.attempt == 0) return;
  const bool may_be_to_blame = !killed || !was.kill_reason.empty();
  const RequeueCause cause = out_of_memory     ? RequeueCause::kOutOfMemory
                             : may_be_to_blame ? RequeueCause::kCrashed
                                               : RequeueCause::kLost;
  Lost lost{.trial = was.train.trial,
            .attempt = was.train.attempt,
            .reason = {cause, was.kill_reason.empty() ? why : was.kill_reason}};
  log_warning("trial {}: {}", lost.trial, lost.reason.detail);
  events.emplace_back(std::move(lost));
}

// Returns whether there are ready workers on GPUs: one GPU may be lost while the others work.
bool WorkerRegistry::has_gpu_left() const {
  return settings_.gpus > 0 &&
         std::ranges::any_of(workers_, [](const auto& item) { return item.second.is_ready; });
}

void WorkerRegistry::on_failed_start(int number, int status, const std::string& why,
                                     std::vector<PoolEvent>& events) {
  if (failed_starts_ == 0) first_reason_ = why;
  const int doublings = std::min(failed_starts_, kMostDoublings);
  workers_[number].next_start_s = clock_.now_s() + kFirstStartDelayS * (1 << doublings);
  if (++failed_starts_ < kFailedStarts) return;
  if (has_gpu_left()) {
    if (failed_starts_ == kFailedStarts)
      log_warning("worker {} cannot start: {}; the others train on", number, why);
    return;
  }
  if (std::exchange(has_given_up_, true)) return;
  const bool is_input = WIFEXITED(status) && WEXITSTATUS(status) == kExitInput;
  events.push_back(
      Unusable{{is_input ? ErrorCode::kInput : ErrorCode::kFailures,
                fmt::format("{} workers in a row ended before they were ready; the first: {}",
                            kFailedStarts, first_reason_)}});
}

}  // namespace detol::inline scheduler
