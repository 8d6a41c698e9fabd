#include "scheduler/processes/worker_registry.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <limits>
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
constexpr int kMostRanks = 4096;           // of a worker that joins
constexpr int kExpected = -1;              // start number of one that had joined an earlier master
constexpr double kFirstStartDelayS = 0.2;  // before a start after a failed one; doubles

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("worker killed by signal {}", WTERMSIG(status));
  return fmt::format("its worker ended with exit code {}", WEXITSTATUS(status));
}

// Returns whether SIGKILL ended a worker. The exit code of a launcher shows the signal that ended a
// rank: Open MPI adds 128 as a shell does, MPICH gives the bare number.
bool is_killed(int status, bool has_launcher) {
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL;
  const int code = WEXITSTATUS(status);
  return has_launcher && (code == 128 + SIGKILL || code == SIGKILL);
}

// Returns whether a launcher says that another machine, or the way there, has failed: ssh's 255,
// and srun's codes of a step that was ended from outside.
bool has_machine_failed(int status) {
  constexpr int kNoConnection = 255;
  if (WIFSIGNALED(status)) return false;
  const int code = WEXITSTATUS(status);
  return code == kNoConnection || code == 128 + SIGTERM || code == SIGTERM;
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
  const auto trains = [&](const Worker& worker) {
    return worker.train.trial == trial && worker.train.attempt == attempt;
  };
  const auto guess = found_.find(trial);
  const auto known = guess == found_.end() ? workers_.end() : workers_.find(guess->second);
  if (known != workers_.end() && trains(known->second)) return &known->second;
  found_.erase(trial);
  for (auto& [number, worker] : workers_) {
    if (!trains(worker)) continue;
    found_[trial] = number;
    return &worker;
  }
  return nullptr;
}

void WorkerRegistry::turn(std::vector<PoolEvent>& events) {
  std::erase_if(workers_, [](const auto& item) {
    return item.first >= kFirstJoined && item.second.start_number == 0;
  });
  hear_supervisor(events);
  if (is_retired_) return;
  for (auto& [number, worker] : workers_) {
    if (worker.start_number != 0 || worker.is_starting || clock_.now_s() < worker.next_start_s)
      continue;
    worker.is_starting =
        send_packet(settings_.supervisor, supervisor::Command{supervisor::Command::kStart, number});
  }
}

Worker* WorkerRegistry::register_worker(const message::Hello& hello, std::vector<PoolEvent>& events,
                                        std::string& why) {
  if (hello.key != settings_.key || hello.start <= 0) {
    why = fmt::format("a worker {} that is not of this run", hello.worker);
    return nullptr;
  }
  const bool is_of_another_size = !hello.id.empty() && hello.ranks != settings_.group_size;
  const bool is_possible = hello.ranks >= 1 && hello.ranks <= kMostRanks;
  if (is_of_another_size && !(settings_.takes_other_sizes && is_possible)) {
    why =
        fmt::format("a worker of {} ranks; this run's have {}", hello.ranks, settings_.group_size);
    return nullptr;
  }
  Worker* worker = hello.id.empty() ? returned(hello, why) : join(hello, events);
  if (worker == nullptr) return nullptr;
  worker->number = hello.id.empty() ? hello.worker : joined_.at(hello.id);
  worker->name = hello.name;
  worker->ranks = hello.id.empty() ? settings_.group_size : hello.ranks;
  worker->memory = hello.memory > 0 ? hello.memory : std::numeric_limits<double>::infinity();
  most_memory_ = std::max(most_memory_, worker->memory);
  if (hello.ready && !std::exchange(worker->is_ready, true)) {
    worker->ready_s = std::max(counted_until_s_, clock_.now_s() - hello.ready_s);
    failed_starts_ = 0;
    has_been_ready_ = true;
  }
  return worker;
}

// Returns the worker that the supervisor started.
Worker* WorkerRegistry::returned(const message::Hello& hello, std::string& why) {
  const auto found = workers_.find(hello.worker);
  if (found != workers_.end() && found->second.start_number == hello.start) return &found->second;
  why = fmt::format("a worker {} that was not started here", hello.worker);
  return nullptr;
}

bool WorkerRegistry::is_replaced(const message::Hello& hello) const {
  const auto found = workers_.find(hello.worker);
  return hello.id.empty() && hello.key == settings_.key && found != workers_.end() &&
         hello.start < found->second.start_number;
}

Worker* WorkerRegistry::join(const message::Hello& hello, std::vector<PoolEvent>& events) {
  const auto known = joined_.find(hello.id);
  if (known != joined_.end()) {
    Worker& worker = workers_.at(known->second);
    const bool is_expected = worker.start_number == kExpected;
    if (worker.start_number == hello.start || is_expected) {
      worker.start_number = hello.start;
      if (is_expected) worker.devices = joined_devices(hello);
      return &worker;
    }
    const int status = hello.previous_status;
    end(known->second, status == 0 ? "another worker took its place" : how_it_ended(status), events,
        status == 0 ? SIGKILL : status);
  }
  const int number = next_joined_++;
  joined_[hello.id] = number;
  remember_joined();
  return &(workers_[number] = {.start_number = hello.start,
                               .address = {},
                               .id = hello.id,
                               .name = hello.name,
                               .devices = joined_devices(hello),
                               .train = {},
                               .alive_since_s = clock_.now_s(),
                               .heard_s = clock_.now_s(),
                               .kill_reason = {}});
}

// Returns numbers for the devices of a worker that joined: the same for the same name.
std::vector<int> WorkerRegistry::joined_devices(const message::Hello& hello) {
  std::vector<int> devices;
  for (const std::string& name : hello.devices) {
    const auto [device, is_new] = device_names_.try_emplace(name, next_device_);
    if (is_new) ++next_device_;
    devices.push_back(device->second);
  }
  for (int rank = static_cast<int>(devices.size()); rank < hello.ranks; ++rank)
    devices.push_back(next_device_++);
  return devices;
}

void WorkerRegistry::remember_joined() const {
  std::vector<std::string> ids;
  for (const auto& [id, number] : joined_) ids.push_back(id);
  if (const auto done = write_joined(settings_.folder, ids); !done)
    log_warning("{}; a restarted master does not wait for workers that joined",
                done.error().message);
}

void WorkerRegistry::expect_joined() {
  for (std::string& id : read_joined(settings_.folder)) {
    const int number = next_joined_++;
    joined_[id] = number;
    workers_[number].start_number = kExpected;
    workers_[number].id = std::move(id);
    workers_[number].alive_since_s = workers_[number].heard_s = clock_.now_s();
  }
}

void WorkerRegistry::end(int number, std::string why, std::vector<PoolEvent>& events, int status) {
  Worker& worker = workers_.at(number);
  worker.kill_reason = std::move(why);
  if (worker.has_joined())
    on_exit(number, status, events);
  else
    send_packet(settings_.supervisor, supervisor::Command{supervisor::Command::kKill, number});
}

// Returns the devices of a worker. Several workers may share one, which is held once.
std::vector<int> WorkerRegistry::devices_of(int number) const {
  std::vector<int> devices;
  if (number >= kFirstJoined) return workers_.at(number).devices;
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

bool WorkerRegistry::runs_or_will(const Worker& worker) const {
  const bool is_replaced = !is_retired_ && !worker.has_joined();
  return worker.is_ready || is_replaced;
}

int WorkerRegistry::running() const {
  return static_cast<int>(std::ranges::count_if(
      workers_, [this](const auto& item) { return runs_or_will(item.second); }));
}

int WorkerRegistry::devices() const {
  std::set<int> devices;
  for (const auto& [number, worker] : workers_) {
    if (!runs_or_will(worker)) continue;
    const std::vector<int> own = devices_of(number);
    devices.insert(own.begin(), own.end());
  }
  return static_cast<int>(devices.size());
}

double WorkerRegistry::most_memory() const {
  return most_memory_ > 0 ? most_memory_ : std::numeric_limits<double>::infinity();
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
  if (was.has_joined()) {
    joined_.erase(was.id);
    remember_joined();
  }
  const std::int64_t oom_kills_before = std::exchange(oom_kills_, detol::oom_kills());
  const bool has_launcher = settings_.group_size > 1 || settings_.is_remote;
  const bool killed =
      is_killed(status, has_launcher) || (settings_.is_remote && has_machine_failed(status));
  const bool out_of_memory = killed && was.kill_reason.empty() && oom_kills_ > oom_kills_before;
  const std::string reason = take_exit_reason(settings_.folder, number);
  const std::string why = killed || reason.empty() ? how_it_ended(status) : reason;
  const bool has_failed = !killed || out_of_memory || settings_.is_remote;
  if (!was.is_ready && was.kill_reason.empty() && has_failed && !was.has_joined())
    on_failed_start(number, status, why, events);
  if (was.train.attempt == 0) return;
  const bool may_be_to_blame = !killed || (!was.has_joined() && !was.kill_reason.empty());
  const RequeueCause cause = out_of_memory     ? RequeueCause::kOutOfMemory
                             : may_be_to_blame ? RequeueCause::kCrashed
                                               : RequeueCause::kLost;
  Lost lost{.trial = was.train.trial,
            .attempt = was.train.attempt,
            .reason = {cause, was.kill_reason.empty() ? why : was.kill_reason},
            .by_sigkill = is_killed(status, has_launcher) && was.kill_reason.empty()};
  log_warning("trial {}: {}", lost.trial, lost.reason.detail);
  events.emplace_back(std::move(lost));
}

// Returns whether the search may go on although workers fail to start: one GPU may be lost while
// the others work, and machines that worked before may come back.
bool WorkerRegistry::may_be_one_devices_fault() const {
  if (settings_.is_remote && has_been_ready_) return true;
  return settings_.gpus > 0 &&
         std::ranges::any_of(workers_, [](const auto& item) { return item.second.is_ready; });
}

void WorkerRegistry::on_failed_start(int number, int status, const std::string& why,
                                     std::vector<PoolEvent>& events) {
  if (failed_starts_ == 0) first_reason_ = why;
  const int doublings = std::min(failed_starts_, kMostDoublings);
  workers_[number].next_start_s = clock_.now_s() + kFirstStartDelayS * (1 << doublings);
  const int allowed = kFailedStarts * (settings_.is_remote ? settings_.workers : 1);
  if (++failed_starts_ < allowed) return;
  if (may_be_one_devices_fault()) {
    if (failed_starts_ == allowed)
      log_warning("worker {} cannot start: {}; the others train on", number, why);
    return;
  }
  if (std::exchange(has_given_up_, true)) return;
  const bool is_input = WIFEXITED(status) && WEXITSTATUS(status) == kExitInput;
  events.push_back(
      Unusable{{is_input ? ErrorCode::kInput : ErrorCode::kFailures,
                fmt::format("{} workers in a row ended before they were ready; the first: {}",
                            allowed, first_reason_)}});
}

}  // namespace detol::inline scheduler
