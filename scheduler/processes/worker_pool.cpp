#include "scheduler/processes/worker_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/fault.h"
#include "core/log.h"
#include "scheduler/processes/orders.h"

namespace detol {
namespace {

constexpr double kWorkerSilentS = 30;  // without a message: dead
constexpr double kHungS = 60;          // without a step, and
constexpr double kHungSteps = 20;      // times the slowest step: hung
constexpr double kLoadS = 600;         // without becoming ready: it hangs
constexpr double kGatherS = 15;        // for workers that outlived a master to say Hello
constexpr double kResendS = 5;         // an order that a heartbeat does not show
constexpr double kTellS = 1;           // between signs of life for the supervisor
constexpr int kMostWarnings = 10;      // about strangers on the port
// That a worker is welcomed with, about 2 MB. It times what it has not heard of, and is answered by
// what was recorded.
constexpr std::size_t kMostChoices = 20'000;

class WorkerPool final : public Pool {
 public:
  WorkerPool(WorkerPoolSettings settings, Socket socket, Clock& clock)
      : settings_(std::move(settings)),
        socket_(std::move(socket)),
        clock_(clock),
        crew_(settings_.crew, clock) {}

  ~WorkerPool() override {
    if (!crew_.joins()) return;
    for (const auto& [number, member] : crew_.members()) send(member, message::Leave{});
    socket_.linger();
  }

  std::vector<Claim> claims() override {
    const double limit_s = clock_.now_s() + patience(kGatherS);
    crew_.turn(events_);  // who lives was sent before this process began
    while (is_anybody_missing() && !is_stopping() && clock_.now_s() < limit_s)
      turn(settings_.turn_s);
    std::vector<Claim> claims;
    for (auto& [number, member] : crew_.members()) {
      if (member.start != 0 && member.address.empty())
        crew_.end(number, "it did not answer", events_);
      if (member.train.attempt > 0) claims.push_back({member.train.trial, member.train.attempt});
    }
    return claims;
  }

  std::vector<Slot> free() override {
    std::vector<Slot> slots;
    for (const auto& [number, member] : crew_.members()) {
      if (!member.is_ready || member.train.attempt != 0 || !member.ended_why.empty()) continue;
      slots.push_back({.worker = number,
                       .name = fmt::format("{}/{}", crew_.joins() ? "mpi" : "local", number),
                       .group_size = settings_.crew.group_size});
    }
    return slots;
  }

  void start(int number, const message::Train& train) override {
    Member& member = crew_.members().at(number);
    member.train = train;
    member.sent_s = member.heard_s = clock_.now_s();
    send(member, train);
  }

  void answer(const message::Answer& answer) override {
    if (Member* member = crew_.training(answer.trial, answer.attempt)) send(*member, answer);
    send_packet(settings_.crew.supervisor, Order{Order::kProgress, 0});
  }

  void answer(const message::Noted& noted) override {
    if (Member* member = crew_.training(noted.trial, noted.attempt)) {
      member->train = {};
      send(*member, noted);
    }
  }

  void broadcast(const AlgorithmChoices& choices) override {
    std::map<std::string, std::string>& welcome = settings_.welcome.choices.algorithms;
    for (const auto& [key, way] : choices.algorithms) {
      if (welcome.size() < kMostChoices) welcome.emplace(key, way);
    }
    for (const auto& [number, member] : crew_.members()) send(member, message::Chosen{choices});
  }

  void drop(TrialId trial) override {
    for (auto& [number, member] : crew_.members()) {
      if (member.train.attempt == 0 || member.train.trial != trial) continue;
      if (crew_.joins()) return suspend(member);  // nobody could replace it
      member.train = {};
      return crew_.end(number, "dropped", events_);
    }
  }

  void suspend() override {
    is_suspended_ = true;
    for (const auto& [number, member] : crew_.members()) suspend(member);
  }

  void retire() override {
    crew_.retire();
    for (const Slot& slot : free()) {
      end(slot.worker, "not needed");
    }
  }

  std::vector<PoolEvent> wait() override {
    turn(events_.empty() ? settings_.turn_s : 0);
    return std::exchange(events_, {});
  }

  void wake() override { socket_.wake(); }

  double held_s() override { return crew_.held_s(); }

 private:
  void turn(double timeout_s) {
    crew_.turn(events_);
    if (clock_.now_s() - told_s_ >= patience(kTellS)) {
      told_s_ = clock_.now_s();
      send_packet(settings_.crew.supervisor, Order{Order::kAlive, 0});
    }
    socket_.wait(settings_.crew.supervisor, timeout_s);
    crew_.turn(events_);
    while (const auto packet = socket_.receive()) hear(*packet);
    look_after();
  }

  bool is_anybody_missing() {
    return std::ranges::any_of(crew_.members(), [&](const auto& item) {
      const bool may_live = item.second.start != 0 || (crew_.joins() && settings_.is_restart);
      return may_live && item.second.address.empty();
    });
  }

  bool is_stopping() const {
    return std::ranges::any_of(
        events_, [](const PoolEvent& e) { return std::holds_alternative<StopRequest>(e); });
  }

  void send(const Member& member, const Message& message) {
    if (!member.address.empty()) socket_.send(encode(message), member.address);
  }

  void suspend(const Member& member) {
    if (member.train.attempt > 0)
      send(member, message::Suspend{member.train.trial, member.train.attempt});
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
  Member* sender(int number, const std::string& from) {
    const auto found = crew_.members().find(number);
    if (found == crew_.members().end() || found->second.address != from) {
      socket_.send(encode(message::Who{}), from);
      return nullptr;
    }
    found->second.heard_s = clock_.now_s();
    return &found->second;
  }

  void on(const message::Hello& hello, const std::string& from) {
    std::string why;
    const bool was_ready = is_ready(hello.worker, hello.start);
    Member* member = crew_.welcome(hello, events_, why);
    if (member == nullptr) return warn(why);
    member->address = from;
    member->heard_s = clock_.now_s();
    if (member->train.attempt == 0 && !was_ready) {  // what it trains for an earlier master
      member->train.trial = hello.trial;
      member->train.attempt = hello.attempt;
    }
    if (!hello.ready) send(*member, settings_.welcome);
    if (is_suspended_) suspend(*member);
  }

  bool is_ready(int number, int start) {
    const auto found = crew_.members().find(number);
    return found != crew_.members().end() && found->second.start == start && found->second.is_ready;
  }

  void on(const message::Heartbeat& beat, const std::string& from) {
    Member* member = sender(beat.worker, from);
    if (member == nullptr) return;
    send(*member, message::Beat{});
    if (!member->is_ready) send(*member, message::Who{});  // its Hello may have been lost
    if (member->train.attempt == 0 || !member->ended_why.empty()) return;
    if (beat.trial != member->train.trial || beat.attempt != member->train.attempt) {
      if (clock_.now_s() - member->sent_s > patience(kResendS)) start(beat.worker, member->train);
    } else if (beat.quiet_s > std::max(patience(kHungS), kHungSteps * beat.slowest_s)) {
      return end(beat.worker, fmt::format("it hung: no step for {:.0f} s", beat.quiet_s));
    }
    if (is_suspended_) suspend(*member);
  }

  void on(const message::Report& report, const std::string& from) {
    if (sender(report.worker, from) != nullptr) events_.push_back(report);
  }

  void on(const message::Timed& timed, const std::string& from) {
    if (sender(timed.worker, from) != nullptr) events_.push_back(timed);
  }

  void on(const message::Ended& ended, const std::string& from) {
    Member* member = sender(ended.worker, from);
    if (member == nullptr) return;
    const message::Train& train = member->train;
    if (train.trial == ended.trial && train.attempt == ended.attempt) {
      events_.push_back(ended);
    } else {
      send(*member, message::Noted{ended.trial, ended.attempt});  // heard before
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
  void on(const message::Chosen&, const std::string&) {}

  void end(int number, std::string why) {
    if (crew_.joins()) send(crew_.members().at(number), message::Leave{});
    crew_.end(number, std::move(why), events_);
  }

  void look_after() {
    for (auto& [number, member] : crew_.members()) {
      if (member.start == 0 || !member.ended_why.empty()) continue;
      const double silent_s = clock_.now_s() - member.heard_s;
      const double loading_s = member.is_ready ? 0 : clock_.now_s() - member.lives_s;
      if (silent_s >= patience(kWorkerSilentS))
        end(number, fmt::format("it was silent for {:.0f} s", silent_s));
      else if (loading_s >= patience(kLoadS))
        end(number, fmt::format("it was not ready after {:.0f} s", loading_s));
    }
  }

  WorkerPoolSettings settings_;  // its welcome grows by what was chosen
  Socket socket_;
  Clock& clock_;
  Crew crew_;
  std::vector<PoolEvent> events_;
  bool is_suspended_ = false;
  double told_s_ = -1e9;  // the supervisor heard from this master
  int warnings_ = 0;
};

}  // namespace

Result<std::unique_ptr<Pool>> make_worker_pool(WorkerPoolSettings settings, Clock& clock) {
  DETOL_ASSIGN(Socket socket, Socket::router(settings.endpoint, settings.keys,
                                             kMostConnections + 2 * settings.crew.workers));
  return std::unique_ptr<Pool>(
      std::make_unique<WorkerPool>(std::move(settings), std::move(socket), clock));
}

}  // namespace detol
