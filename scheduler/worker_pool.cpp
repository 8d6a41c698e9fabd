#include "scheduler/worker_pool.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include "core/exit_code.h"
#include "core/fault.h"
#include "core/log.h"
#include "scheduler/oom.h"
#include "scheduler/orders.h"
#include "scheduler/socket.h"

namespace detol {
namespace {

constexpr double kSilentS = 30;    // without a message: dead
constexpr double kHungS = 60;      // without a step, and
constexpr double kHungSteps = 20;  // times the slowest step: hung
constexpr double kLoadS = 600;     // without becoming ready: it hangs
constexpr double kGatherS = 15;    // for workers that outlived a master to say Hello
constexpr double kResendS = 5;     // an order that a heartbeat does not show
constexpr double kTellS = 1;       // between signs of life for the supervisor
constexpr int kFailedStarts = 3;   // in a row: no worker can be had
constexpr int kMostWarnings = 10;  // about strangers on the port

struct Worker {
  int pid = 0;  // 0: not (yet) alive
  bool is_ready = false;
  std::string address;      // empty: it has not said Hello to this master
  message::Train train;     // attempt 0: free
  double lives_s = 0;       // since when it is known to live
  double sent_s = 0;        // when `train` was sent
  double heard_s = 0;       // its last message, or its start
  double ready_s = 0;       // device time counts from here
  std::string ended_why;    // this pool ordered its end
  double start_s = 0;       // not before
  bool is_ordered = false;  // a start is under way
};

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("its worker ended by signal {}", WTERMSIG(status));
  return fmt::format("its worker ended with exit code {}", WEXITSTATUS(status));
}

class WorkerPool final : public Pool {
 public:
  WorkerPool(WorkerPoolSettings settings, Socket socket, Clock& clock)
      : settings_(std::move(settings)),
        socket_(std::move(socket)),
        clock_(clock),
        oom_kills_(detol::oom_kills()) {
    for (int i = 0; i < settings_.workers; ++i) workers_[i];
  }

  std::vector<Claim> claims() override {
    const double limit_s = clock_.now_s() + patience(kGatherS);
    hear_supervisor();  // who lives was sent before this process began
    const auto is_missing = [](const auto& item) {
      return item.second.pid != 0 && item.second.address.empty();
    };
    while (std::ranges::any_of(workers_, is_missing) && clock_.now_s() < limit_s)
      turn(settings_.turn_s);
    std::vector<Claim> claims;
    for (auto& [number, worker] : workers_) {
      if (worker.pid != 0 && worker.address.empty()) end(number, worker, "it did not answer");
      if (worker.train.attempt > 0) claims.push_back({worker.train.trial, worker.train.attempt});
    }
    return claims;
  }

  std::vector<Slot> free() override {
    std::vector<Slot> slots;
    for (const auto& [number, worker] : workers_) {
      if (worker.is_ready && worker.train.attempt == 0 && worker.ended_why.empty())
        slots.push_back({number, fmt::format("local/{}", number)});
    }
    return slots;
  }

  void start(int number, const message::Train& train) override {
    Worker& worker = workers_.at(number);
    worker.train = train;
    worker.sent_s = worker.heard_s = clock_.now_s();
    send(worker, train);
  }

  void answer(const message::Answer& answer) override {
    if (Worker* worker = training(answer.trial, answer.attempt)) send(*worker, answer);
    send_packet(settings_.supervisor, Order{Order::kProgress, 0});
  }

  void answer(const message::Noted& noted) override {
    if (Worker* worker = training(noted.trial, noted.attempt)) {
      worker->train = {};
      send(*worker, noted);
    }
  }

  void drop(TrialId trial) override {
    for (auto& [number, worker] : workers_) {
      if (worker.train.attempt == 0 || worker.train.trial != trial) continue;
      worker.train = {};
      end(number, worker, "dropped");
    }
  }

  void suspend() override {
    for (const auto& [number, worker] : workers_) {
      if (worker.train.attempt > 0)
        send(worker, message::Suspend{worker.train.trial, worker.train.attempt});
    }
  }

  void retire() override {
    is_retired_ = true;
    for (const Slot& slot : free()) end(slot.worker, workers_.at(slot.worker), "not needed");
  }

  std::vector<PoolEvent> wait() override {
    turn(events_.empty() ? settings_.turn_s : 0);
    return std::exchange(events_, {});
  }

  double held_s() override {
    double sum = held_s_;
    for (const auto& [number, worker] : workers_) {
      if (worker.is_ready) sum += clock_.now_s() - worker.ready_s;
    }
    return sum;
  }

 private:
  void turn(double timeout_s) {
    start_missing();
    if (clock_.now_s() - told_s_ >= patience(kTellS)) {
      told_s_ = clock_.now_s();
      send_packet(settings_.supervisor, Order{Order::kAlive, 0});
    }
    socket_.wait(settings_.supervisor, timeout_s);
    hear_supervisor();
    while (const auto packet = socket_.receive()) hear(*packet);
    look_after();
  }

  void send(const Worker& worker, const Message& message) {
    socket_.send(encode(message), worker.address);
  }

  Worker* training(TrialId trial, int attempt) {
    for (auto& [number, worker] : workers_) {
      if (worker.train.trial == trial && worker.train.attempt == attempt) return &worker;
    }
    return nullptr;
  }

  void start_missing() {
    if (is_retired_) return;
    for (auto& [number, worker] : workers_) {
      if (worker.pid != 0 || worker.is_ordered || clock_.now_s() < worker.start_s) continue;
      worker.is_ordered = send_packet(settings_.supervisor, Order{Order::kStart, number});
    }
  }

  void end(int number, Worker& worker, std::string why) {
    worker.ended_why = std::move(why);
    send_packet(settings_.supervisor, Order{Order::kKill, number});
  }

  void hear_supervisor() {
    while (const auto notice = next_notice(settings_.supervisor)) {
      if (notice->kind == Notice::kStop) {
        events_.push_back(StopRequest{});
        continue;
      }
      Worker& worker = workers_[notice->worker];  // one too many if -j became smaller: see hear()
      if (notice->kind == Notice::kExited) {
        on_exit(worker, notice->status);
      } else {
        worker = Worker{};
        worker.pid = notice->pid;
        worker.heard_s = worker.lives_s = clock_.now_s();
      }
    }
  }

  void on_exit(Worker& worker, int status) {
    const Worker was = std::exchange(worker, Worker{});
    if (was.is_ready) {
      held_s_ += clock_.now_s() - was.ready_s;
    } else {
      worker.start_s = clock_.now_s() + 0.2 * (1 << failed_starts_);
      if (++failed_starts_ >= kFailedStarts) give_up(status);
    }
    if (was.train.attempt == 0) return;
    Lost lost{.trial = was.train.trial, .attempt = was.train.attempt, .reason = was.ended_why};
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const std::int64_t oom_kills_before = std::exchange(oom_kills_, detol::oom_kills());
    lost.out_of_memory = lost.reason.empty() && is_killed && oom_kills_ > oom_kills_before;
    lost.counts = !is_killed || !lost.reason.empty();
    if (lost.reason.empty()) lost.reason = describe(status);
    log_warning("trial {}: {}", lost.trial, lost.reason);
    events_.push_back(std::move(lost));
  }

  void give_up(int status) {
    const bool is_input = WIFEXITED(status) && WEXITSTATUS(status) == kExitInput;
    events_.push_back(
        Unusable{{is_input ? ErrorCode::kInput : ErrorCode::kFailures,
                  fmt::format("{} workers in a row ended before they were ready; the last: {}",
                              kFailedStarts, describe(status))}});
  }

  void hear(const Packet& packet) {
    const Result<Message> message = decode(packet.bytes);
    if (!message) return warn(message.error().message);
    std::visit([&](const auto& m) { on(m, packet.from); }, *message);
  }

  void warn(const std::string& what) {
    if (++warnings_ <= kMostWarnings) log_warning("ignored on the master's port: {}", what);
  }

  // The worker that a message comes from, or nullptr, having asked a stranger who it is.
  Worker* sender(int number, const std::string& from) {
    const auto found = workers_.find(number);
    if (found == workers_.end() || found->second.address != from) {
      socket_.send(encode(message::Who{}), from);
      return nullptr;
    }
    found->second.heard_s = clock_.now_s();
    return &found->second;
  }

  void on(const message::Hello& hello, const std::string& from) {
    const auto found = workers_.find(hello.worker);
    if (found == workers_.end() || found->second.pid != hello.pid)
      return warn(fmt::format("a worker {} that was not started here", hello.worker));
    Worker& worker = found->second;
    worker.address = from;
    worker.heard_s = clock_.now_s();
    if (worker.train.attempt == 0 && !worker.is_ready) {  // what it trains for an earlier master
      worker.train.trial = hello.trial;
      worker.train.attempt = hello.attempt;
    }
    if (!hello.ready) return send(worker, settings_.welcome);
    if (std::exchange(worker.is_ready, true)) return;
    worker.ready_s = clock_.now_s();
    failed_starts_ = 0;
  }

  void on(const message::Heartbeat& beat, const std::string& from) {
    Worker* worker = sender(beat.worker, from);
    if (worker == nullptr) return;
    send(*worker, message::Beat{});
    if (!worker->is_ready) send(*worker, message::Who{});  // its Hello may have been lost
    if (worker->train.attempt == 0 || !worker->ended_why.empty()) return;
    if (beat.trial != worker->train.trial || beat.attempt != worker->train.attempt) {
      if (clock_.now_s() - worker->sent_s > patience(kResendS)) start(beat.worker, worker->train);
    } else if (beat.quiet_s > std::max(patience(kHungS), kHungSteps * beat.slowest_s)) {
      end(beat.worker, *worker, fmt::format("it hung: no step for {:.0f} s", beat.quiet_s));
    }
  }

  void on(const message::Report& report, const std::string& from) {
    if (sender(report.worker, from) != nullptr) events_.push_back(report);
  }

  void on(const message::Ended& ended, const std::string& from) {
    Worker* worker = sender(ended.worker, from);
    if (worker == nullptr) return;
    const message::Train& train = worker->train;
    if (train.trial == ended.trial && train.attempt == ended.attempt) {
      events_.push_back(ended);
    } else {
      send(*worker, message::Noted{ended.trial, ended.attempt});  // heard before
    }
  }

  // What only a master says.
  void on(const message::Who&, const std::string&) {}
  void on(const message::Welcome&, const std::string&) {}
  void on(const message::Train&, const std::string&) {}
  void on(const message::Answer&, const std::string&) {}
  void on(const message::Noted&, const std::string&) {}
  void on(const message::Beat&, const std::string&) {}
  void on(const message::Suspend&, const std::string&) {}
  void on(const message::Leave&, const std::string&) {}

  void look_after() {
    for (auto& [number, worker] : workers_) {
      if (worker.pid == 0 || !worker.ended_why.empty()) continue;
      const double silent_s = clock_.now_s() - worker.heard_s;
      const double loading_s = worker.is_ready ? 0 : clock_.now_s() - worker.lives_s;
      if (silent_s >= patience(kSilentS))
        end(number, worker, fmt::format("it was silent for {:.0f} s", silent_s));
      else if (loading_s >= patience(kLoadS))
        end(number, worker, fmt::format("it was not ready after {:.0f} s", loading_s));
    }
  }

  const WorkerPoolSettings settings_;
  Socket socket_;
  Clock& clock_;
  std::map<int, Worker> workers_;  // by number
  std::vector<PoolEvent> events_;
  bool is_retired_ = false;
  double held_s_ = 0;  // by workers that have ended
  std::int64_t oom_kills_ = 0;
  int failed_starts_ = 0;
  double told_s_ = -1e9;  // the supervisor heard from this master
  int warnings_ = 0;
};

}  // namespace

Result<std::unique_ptr<Pool>> make_worker_pool(WorkerPoolSettings settings, Clock& clock) {
  DETOL_ASSIGN(Socket socket, Socket::router(settings.endpoint));
  return std::unique_ptr<Pool>(
      std::make_unique<WorkerPool>(std::move(settings), std::move(socket), clock));
}

}  // namespace detol
