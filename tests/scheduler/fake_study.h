#pragma once

// A whole study without a process, a file or a clock: a pool of workers in virtual time that
// train by formula, and a ledger in memory.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "scheduler/driver.h"

namespace detol::testing_support {

class VirtualClock final : public Clock {
 public:
  double now_s() override { return now; }
  double wall_s() override { return 1e9 + now; }
  double now = 0;
};

class MemoryLedger final : public Ledger {
 public:
  Result<StudyId> create_study(const StudyRecord&) override { return 1; }
  Result<void> append(StudyId, std::span<const Event> events) override {
    if (full-- > 0) return fail(ErrorCode::kStorage, "the disk is full");
    transactions.emplace_back(events.begin(), events.end());
    return {};
  }
  bool may_retry() const override { return true; }
  Result<StudyRecord> study(const std::string&) override { return StudyRecord{}; }
  Result<std::vector<Event>> events(StudyId) override {
    std::vector<Event> all;
    for (const auto& t : transactions) all.insert(all.end(), t.begin(), t.end());
    return all;
  }
  std::vector<std::vector<Event>> transactions;
  int full = 0;  // appends that find no space
};

// What happens to a training trial at one of its epochs, instead of a report.
enum class Mishap { kNone, kKilled, kCrash, kDiverge, kBroken, kHang };

// `workers` workers; epoch e of a trial takes epoch_s seconds and reports loss(x, e).
class FakePool final : public Pool {
 public:
  FakePool(int workers, VirtualClock& clock) : clock_(clock), busy_(static_cast<size_t>(workers)) {}

  std::vector<Claim> claims() override { return outlived; }
  std::vector<Slot> free() override {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      if (!busy_[i]) slots.push_back({static_cast<int>(i), "fake"});
    }
    return slots;
  }
  void start(int worker, const message::Train& train) override {
    started.push_back(train);
    busy_[static_cast<std::size_t>(worker)] =
        Training{train, train.acknowledged + 1, clock_.now + epoch_s};
  }
  void answer(const message::Answer& answer) override {
    answers.push_back(answer);
    if (on_answer) on_answer(answer);
    for (auto& worker : busy_) {
      if (!worker || worker->train.trial != answer.trial) continue;
      worker->due_s = clock_.now + (answer.verdict == Verdict::kContinue ? epoch_s : 0);
      worker->end = answer.verdict;
      worker->epoch = answer.epoch + 1;
    }
  }
  void answer(const message::Noted&) override {}
  void drop(TrialId trial) override {
    dropped.push_back(trial);
    for (auto& worker : busy_) {
      if (worker && worker->train.trial == trial) worker.reset();
    }
  }
  void suspend() override { is_suspended = true; }
  void retire() override { is_retired = true; }
  std::vector<PoolEvent> wait() override {
    if (stop_at && waits++ == *stop_at) return {StopRequest{}};
    if (!extra.empty()) return std::exchange(extra, {});
    std::optional<Training>* next = nullptr;
    for (auto& worker : busy_) {
      if (worker && (next == nullptr || worker->due_s < (*next)->due_s)) next = &worker;
    }
    if (next == nullptr || (*next)->due_s > clock_.now + 1) return clock_.now += 1, no_events();
    clock_.now = std::max(clock_.now, (*next)->due_s);
    return happen(*next);
  }
  double held_s() override { return clock_.now * static_cast<double>(busy_.size()); }

  static double loss(const message::Train& train, int epoch) {
    const double x = std::get<double>(train.params.front().second);
    return (x - 0.3) * (x - 0.3) + 1.0 / epoch;
  }

  double epoch_s = 1;
  std::function<Mishap(const message::Train&, int epoch)> mishap;
  std::optional<int> stop_at;  // the wait that brings a StopRequest
  int waits = 0;
  std::vector<PoolEvent> extra;  // arrives with the next wait
  std::function<void(const message::Answer&)> on_answer;
  std::vector<Claim> outlived;
  std::vector<message::Train> started;
  std::vector<message::Answer> answers;
  std::vector<TrialId> dropped;
  bool is_suspended = false;
  bool is_retired = false;

 private:
  struct Training {
    message::Train train;
    int epoch = 1;  // the next to report
    double due_s = 0;
    Verdict end = Verdict::kContinue;
  };
  static std::vector<PoolEvent> no_events() { return {}; }

  std::vector<PoolEvent> happen(std::optional<Training>& worker) {
    const Training now = *worker;
    const auto ended = [&](const Evaluation& evaluation, bool broken = false) {
      worker.reset();
      return std::vector<PoolEvent>{
          message::Ended{0, now.train.trial, now.train.attempt, broken, evaluation}};
    };
    if (now.end == Verdict::kStop) return ended({Evaluation::End::kFinished, {}, ""});
    if (now.end == Verdict::kSuspend) return ended({Evaluation::End::kSuspended, {}, ""});
    switch (mishap ? mishap(now.train, now.epoch) : Mishap::kNone) {
      case Mishap::kNone:
        break;
      case Mishap::kDiverge:
        return ended({Evaluation::End::kFailed, Cause::kDiverged, "NaN"});
      case Mishap::kBroken:
        return ended({}, true);
      case Mishap::kHang:
        return worker->due_s = 1e18, no_events();
      case Mishap::kKilled:
        worker.reset();
        return {Lost{now.train.trial, now.train.attempt, false, false, "killed"}};
      case Mishap::kCrash:
        worker.reset();
        return {Lost{now.train.trial, now.train.attempt, true, false, "signal 11"}};
    }
    worker->due_s = 1e18;  // until the answer
    return {message::Report{0,
                            now.train.trial,
                            now.train.attempt,
                            {.epoch = now.epoch,
                             .metrics = {{"loss", loss(now.train, now.epoch)}},
                             .work = 10.0 * now.epoch,
                             .train_s = epoch_s}}};
  }

  VirtualClock& clock_;
  std::vector<std::optional<Training>> busy_;
};

// One parameter x in [0, 1], four epochs, minimise loss. `refuses` makes candidates that
// are too large.
struct FakeStudy {
  explicit FakeStudy(int workers = 1, MemoryLedger earlier = {})
      : ledger(std::move(earlier)), pool(workers, clock) {
    config.study = "fake";
    config.seed = 7;
    config.space = SpaceBuilder().add_float("x", 0, 1, {.step = step}).build().value();
    config.objectives = {minimize("loss")};
    config.max_epochs = 4;
    config.algorithm.name = "evolution";
    config.pruner.name = "none";
  }

  // Like a fresh master: what it knows is in the ledger.
  Result<std::string> run() {
    searcher = make_searcher(config.algorithm.name, config.space,
                             {.seed = config.seed, .objectives = config.objectives, .options = {}})
                   .value();
    pruner = make_pruner(config.pruner.name, {.max_epochs = 4, .options = {}}).value();
    driver = std::make_unique<Driver>(DriverParts{
        .config = config,
        .decode = [this](const Genome& genome) { return decode(genome); },
        .ledger = ledger,
        .study = 1,
        .searcher = *searcher,
        .pruner = *pruner,
        .pool = pool,
        .clock = clock,
        .budget = parse_budget(budget).value(),
        .target = target,
        .folder = "artefacts",
        .initial = initial,
        .retry_failed = retry_failed,
    });
    DETOL_TRY(driver->replay(ledger.events(1).value()));
    return driver->run();
  }

  tl::expected<Candidate, StudyConfig::Refused> decode(const Genome& genome) const {
    if (refuses && refuses(genome.number("x")))
      return tl::unexpected(StudyConfig::Refused{Cause::kTooLarge, "params 9 > 1"});
    Candidate candidate{.network = NetworkBuilder({1, 1, 1}).build(0).value(),
                        .recipe = {},
                        .cost = {},
                        .arch_hash = 0};
    candidate.recipe.epochs = 4;
    return candidate;
  }

  // Every trial with all that must not depend on interruptions.
  std::string outcomes() const {
    std::string text;
    for (const TrialEntry& t : driver->book().trials()) {
      text += fmt::format("{} {} {} {} {} {} {}\n", t.trial.id, t.trial.genome.number("x"),
                          to_text(t.state), t.failure, t.epochs, fmt::join(t.values, ","), t.work);
    }
    return text;
  }
  const TrialEntry& trial(TrialId id) const { return driver->book().trials().at(id); }

  double step = 0;
  StudyConfig config;
  std::string budget = "6trials";
  std::optional<Target> target;
  std::vector<Genome> initial;
  bool retry_failed = false;
  std::function<bool(double)> refuses;

  VirtualClock clock;
  MemoryLedger ledger;
  FakePool pool;
  std::unique_ptr<Searcher> searcher;
  std::unique_ptr<Pruner> pruner;
  std::unique_ptr<Driver> driver;
};

}  // namespace detol::testing_support
