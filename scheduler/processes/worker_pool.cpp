#include "scheduler/processes/worker_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <unordered_map>
#include <utility>

#include "core/fault.h"
#include "core/log.h"
#include "scheduler/processes/supervisor_protocol.h"
#include "scheduler/time_limits.h"

namespace detol::inline scheduler {
namespace {

constexpr double kWorkerSilentS = 30;  // without a message: dead
constexpr double kLoadS = 600;         // without becoming ready: it hangs
constexpr double kGatherS = 15;        // for workers that outlived a master to send Hello
constexpr double kResendS = 5;         // before a Train that no heartbeat shows is sent again
constexpr double kTellS = 1;           // between two kAlive for the supervisor
constexpr int kMostWarnings = 10;      // about unknown peers on the port
// The most choices in a Setup, about 2 MB. A worker times the other shapes itself, and the master
// answers with the recorded choices.
constexpr std::size_t kMostChoices = 20'000;

// Returns the connections over TCP that the port takes: a worker may have an old one beside its
// own.
std::size_t most_connections(std::size_t workers) {
  return kMostConnections + 2 * workers;
}

class WorkerPool final : public Pool {
 public:
  WorkerPool(WorkerPoolSettings settings, Socket socket, Clock& clock)
      : settings_(std::move(settings)),
        socket_(std::move(socket)),
        clock_(clock),
        registry_(settings_.registry, clock) {
    if (settings_.is_restart) registry_.expect_joined();
  }

  ~WorkerPool() override {
    for (const auto& [number, worker] : registry_.workers()) {
      if (!is_out_of_reach(worker)) continue;
      send(worker, message::Shutdown{});
      socket_.linger();
    }
  }

  std::vector<Claim> claims() override {
    const double limit_s = clock_.now_s() + patience(kGatherS);
    registry_.turn(events_);  // kStarted was sent before this process began
    while (is_anybody_missing() && !is_stopping() && clock_.now_s() < limit_s)
      turn(settings_.turn_s);
    std::vector<Claim> claims;
    for (auto& [number, worker] : registry_.workers()) {
      if (worker.start_number != 0 && worker.address.empty())
        registry_.end(number, "it did not answer", events_, SIGKILL);
      if (worker.train.attempt > 0) claims.push_back({worker.train.trial, worker.train.attempt});
    }
    return claims;
  }

  std::vector<Slot> free() override {
    std::vector<Slot> slots;
    for (const auto& [number, worker] : registry_.workers()) {
      if (worker.train.attempt == 0 && takes_trials(worker))
        slots.push_back(slot_of(number, worker));
    }
    return slots;
  }

  std::optional<Slot> slot_after(TrialId trial, int attempt) override {
    const Worker* worker = registry_.training(trial, attempt);
    if (worker == nullptr || !takes_trials(*worker)) return std::nullopt;
    return slot_of(worker->number, *worker);
  }

  void start(int number, const message::Train& train) override {
    const auto found = registry_.workers().find(number);
    if (found == registry_.workers().end()) {  // it left while the ledger could not be written
      events_.push_back(Lost{train.trial, train.attempt, {RequeueCause::kLost, "its worker left"}});
      return;
    }
    Worker& worker = found->second;
    worker.train = train;
    worker.sent_s = worker.heard_s = clock_.now_s();
    send(worker, train);
  }

  void acknowledge(const message::ReportAck& ack) override {
    if (Worker* worker = registry_.training(ack.trial, ack.attempt)) {
      if (ack.verdict == Verdict::kStop) {
        worker->train = {};
        worker->stopped = {ack.trial, ack.attempt};
      }
      send(*worker, ack);
    }
    send_packet(settings_.registry.supervisor,
                supervisor::Command{supervisor::Command::kProgress, 0});
  }

  void acknowledge(const message::EndAck& ack) override {
    if (Worker* worker = registry_.training(ack.trial, ack.attempt)) {
      worker->train = {};
      send(*worker, ack);
    }
  }

  void broadcast(const AlgorithmChoices& choices) override {
    std::map<std::string, std::string>& known = settings_.setup.choices.algorithms;
    for (const auto& [key, algorithm] : choices.algorithms) {
      if (known.size() < kMostChoices) known.emplace(key, algorithm);
    }
    for (const auto& [number, worker] : registry_.workers()) send(worker, message::Chosen{choices});
  }

  void drop(TrialId trial) override {
    for (auto& [number, worker] : registry_.workers()) {
      if (worker.train.attempt == 0 || worker.train.trial != trial) continue;
      if (worker.has_joined()) return suspend(worker);  // no supervisor could replace it
      worker.train = {};
      return registry_.end(number, "dropped", events_);
    }
  }

  void suspend() override {
    is_suspended_ = true;
    for (const auto& [number, worker] : registry_.workers()) suspend(worker);
  }

  void retire() override {
    registry_.retire();
    for (const Slot& slot : free()) {
      const auto [trial, attempt] = registry_.workers().at(slot.worker).stopped;
      if (attempt == 0) end(slot.worker, "not needed");  // else its program has a grace to end
    }
  }

  void hire() override { registry_.hire(); }

  std::vector<PoolEvent> wait(double at_most_s) override {
    turn(events_.empty() ? std::min(settings_.turn_s, at_most_s) : 0);
    return std::exchange(events_, {});
  }

  void wake() override { socket_.wake(); }

  double held_s() override { return registry_.held_s(); }
  int devices() override { return registry_.devices(); }
  int workers() override { return registry_.running(); }
  double most_memory() override { return registry_.most_memory(); }

 private:
  static bool takes_trials(const Worker& worker) {
    return worker.is_ready && worker.kill_reason.empty() && !worker.is_leaving;
  }

  static Slot slot_of(int number, const Worker& worker) {
    return {.worker = number,
            .name = worker.name.empty() ? fmt::format("local/{}", number) : worker.name,
            .group_size = worker.ranks,
            .memory = worker.memory};
  }

  void turn(double timeout_s) {
    registry_.turn(events_);
    if (clock_.now_s() - told_s_ >= patience(kTellS)) {
      told_s_ = clock_.now_s();
      send_packet(settings_.registry.supervisor,
                  supervisor::Command{supervisor::Command::kAlive, 0});
    }
    socket_.wait(settings_.registry.supervisor, timeout_s);
    registry_.turn(events_);
    while (const auto packet = socket_.receive()) hear(*packet);
    look_after();
  }

  bool is_anybody_missing() {
    return std::ranges::any_of(registry_.workers(), [&](const auto& item) {
      return item.second.start_number != 0 && item.second.address.empty();
    });
  }

  bool is_stopping() const {
    return std::ranges::any_of(
        events_, [](const PoolEvent& e) { return std::holds_alternative<StopRequest>(e); });
  }

  void send(const Worker& worker, const Message& message) {
    if (!worker.address.empty()) socket_.send(encode(message), worker.address);
  }

  void suspend(const Worker& worker) {
    if (worker.train.attempt > 0)
      send(worker, message::Suspend{worker.train.trial, worker.train.attempt});
  }

  void hear(const Packet& packet) {
    const Result<Message> message = decode(packet.bytes);
    if (!message) return warn(message.error().message);
    std::visit([&](const auto& m) { on(m, packet.from); }, *message);
  }

  void warn(const std::string& what) {
    if (++warnings_ <= kMostWarnings) log_warning("ignored on the master's port: {}", what);
  }

  // Returns the number of the worker that a message comes from, or -1.
  int number_of(const std::string& from) {
    const auto known = numbers_.find(from);
    if (known == numbers_.end()) return -1;
    const auto worker = registry_.workers().find(known->second);
    if (worker != registry_.workers().end() && worker->second.address == from) return known->second;
    numbers_.erase(known);
    return -1;
  }

  // Returns the worker that a message comes from. Sends Identify to an unknown peer and returns
  // nullptr.
  Worker* sender(const std::string& from) {
    const int number = number_of(from);
    if (number < 0) {
      socket_.send(encode(message::Identify{}), from);
      return nullptr;
    }
    Worker& worker = registry_.workers().at(number);
    worker.heard_s = clock_.now_s();
    return &worker;
  }

  void on(const message::Hello& hello, const std::string& from) {
    std::string why;
    Worker* worker = registry_.register_worker(hello, events_, why);
    if (registry_.is_replaced(hello)) socket_.send(encode(message::Shutdown{}), from);
    if (worker == nullptr) return warn(why);
    const bool was_ready = std::exchange(worker->was_ready, worker->is_ready);
    if (worker->address != from) numbers_.erase(worker->address);
    worker->address = from;
    worker->heard_s = clock_.now_s();
    numbers_[from] = worker->number;
    forget_old_addresses();
    socket_.allow(most_connections(registry_.workers().size()));
    if (worker->train.attempt == 0 && !was_ready) {  // what it trains for an earlier master
      worker->train.trial = hello.trial;
      worker->train.attempt = hello.attempt;
    }
    if (!hello.ready) send(*worker, settings_.setup);
    if (is_suspended_) suspend(*worker);
  }

  // An address is forgotten when its worker has another, or when it is used in vain; those of
  // workers that have ended are many after a while.
  void forget_old_addresses() {
    constexpr std::size_t kFew = 64;
    if (numbers_.size() <= kFew + 2 * registry_.workers().size()) return;
    std::erase_if(numbers_, [&](const auto& item) {
      const auto worker = registry_.workers().find(item.second);
      return worker == registry_.workers().end() || worker->second.address != item.first;
    });
  }

  void on(const message::Heartbeat& beat, const std::string& from) {
    Worker* worker = sender(from);
    if (worker == nullptr) return;
    const int number = numbers_.at(from);
    send(*worker, message::HeartbeatAck{});
    worker->is_leaving = worker->is_leaving || beat.is_leaving;
    if (worker->is_leaving && worker->train.attempt == 0) return end(number, "it leaves");
    if (!worker->is_ready) send(*worker, message::Identify{});  // its Hello may have been lost
    if (worker->train.attempt == 0 || !worker->kill_reason.empty()) return;
    if (beat.trial != worker->train.trial || beat.attempt != worker->train.attempt) {
      if (clock_.now_s() - worker->sent_s > patience(kResendS)) start(number, worker->train);
    } else if (beat.quiet_s > hangs_after_s(beat.slowest_s)) {
      return end(number, fmt::format("it hung: no step for {:.0f} s", beat.quiet_s));
    }
    if (is_suspended_) suspend(*worker);
  }

  void on(const message::Report& report, const std::string& from) {
    const Worker* worker = sender(from);
    if (worker == nullptr) return;
    const message::Train& train = worker->train;
    if (train.trial == report.trial && train.attempt == report.attempt)
      events_.push_back(report);
    else if (!report.more)
      answer_again(*worker, report);
  }

  // The verdict that ended this attempt, and the order that followed it, may have been lost.
  void answer_again(const Worker& worker, const message::Report& report) {
    send(worker,
         message::ReportAck{report.trial, report.attempt, report.report.epochs(), Verdict::kStop});
    if (worker.train.attempt > 0) send(worker, worker.train);
  }

  void on(const message::Timed& timed, const std::string& from) {
    if (sender(from) != nullptr) events_.push_back(timed);
  }

  void on(const message::Ended& ended, const std::string& from) {
    Worker* worker = sender(from);
    if (worker == nullptr) return;
    const message::Train& train = worker->train;
    if (train.trial == ended.trial && train.attempt == ended.attempt) {
      events_.push_back(ended);
    } else {
      send(*worker, message::EndAck{ended.trial, ended.attempt});  // a repeat
      if (worker->stopped != std::pair(ended.trial, ended.attempt)) return;
      worker->stopped = {};
      events_.push_back(ended);
    }
  }

  void on(const message::Call& call, const std::string& from) {
    if (!settings_.on_call || call.key != settings_.registry.key)
      return warn("a call of another run");
    settings_.on_call(call, [this, number = call.number, from](std::string line) {
      socket_.send(encode(message::Answer{number, std::move(line)}), from);
    });
  }

  // Only a master sends these.
  void on(const message::Identify&, const std::string&) {}
  void on(const message::Setup&, const std::string&) {}
  void on(const message::Train&, const std::string&) {}
  void on(const message::ReportAck&, const std::string&) {}
  void on(const message::EndAck&, const std::string&) {}
  void on(const message::HeartbeatAck&, const std::string&) {}
  void on(const message::Suspend&, const std::string&) {}
  void on(const message::Shutdown&, const std::string&) {}
  void on(const message::Chosen&, const std::string&) {}
  void on(const message::Answer&, const std::string&) {}

  // Returns whether the supervisor cannot end the worker, or only what connects it with another
  // machine: it is told to end itself.
  bool is_out_of_reach(const Worker& worker) const {
    return worker.has_joined() || settings_.registry.is_remote;
  }

  void end(int number, std::string why, int status = SIGTERM) {
    const Worker& worker = registry_.workers().at(number);
    if (is_out_of_reach(worker)) send(worker, message::Shutdown{});
    registry_.end(number, std::move(why), events_, status);
  }

  void look_after() {
    for (auto& [number, worker] : registry_.workers()) {
      if (worker.start_number == 0 || !worker.kill_reason.empty()) continue;
      const double silent_s = clock_.now_s() - worker.heard_s;
      const double loading_s = worker.is_ready ? 0 : clock_.now_s() - worker.alive_since_s;
      if (silent_s >= patience(kWorkerSilentS))
        end(number, fmt::format("it was silent for {:.0f} s", silent_s), SIGKILL);
      else if (loading_s >= patience(kLoadS))
        end(number, fmt::format("it was not ready after {:.0f} s", loading_s));
    }
  }

  WorkerPoolSettings settings_;  // its `setup` grows by the choices that are broadcast
  Socket socket_;
  Clock& clock_;
  WorkerRegistry registry_;
  std::unordered_map<std::string, int> numbers_;  // of workers, by their address
  std::vector<PoolEvent> events_;
  bool is_suspended_ = false;
  double told_s_ = -1e9;  // when the last kAlive was sent
  int warnings_ = 0;
};

}  // namespace

Result<std::unique_ptr<Pool>> make_worker_pool(WorkerPoolSettings settings, Clock& clock) {
  DETOL_ASSIGN(Socket socket, Socket::router(settings.endpoint, settings.keys));
  if (!settings.tcp_endpoint.empty()) DETOL_TRY(socket.listen(settings.tcp_endpoint));
  socket.allow(most_connections(static_cast<std::size_t>(settings.registry.workers)));
  return std::unique_ptr<Pool>(
      std::make_unique<WorkerPool>(std::move(settings), std::move(socket), clock));
}

}  // namespace detol::inline scheduler
