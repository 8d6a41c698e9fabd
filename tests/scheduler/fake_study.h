#pragma once

// A whole study without a process, a file or a clock: simulated workers that train by formula and
// have mishaps, and a ledger in memory.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "scheduler/driver.h"
#include "scheduler/simulation/simulated_pool.h"
#include "tests/scheduler/memory_ledger.h"
#include "tests/search/fake_model.h"

namespace detol::testing_support {

// The event that happens to a training trial at one of its epochs, instead of a report.
enum class Mishap {
  kNone,
  kKilled,     // by SIGKILL from outside
  kCutOff,     // with its machine
  kCrash,      // by a signal of its own
  kOomKilled,  // by the system's OOM killer
  kDiverge,    // the trainer says so
  kNoMemory,   // the trainer says so
  kTooSlow,    // the trainer says so
  kBroken,     // an unexpected error
  kFullDisk,   // its checkpoint cannot be written
  kHang,
};

// FakePool is a SimulatedPool that returns one event at a time and remembers what it was told.
// Epoch e of a trial takes epoch_s (or seconds()) and reports loss(train, e).
class FakePool final : public Pool, public TrainingModel {
 public:
  FakePool(int workers, VirtualClock& clock) : workers_(workers), clock_(clock) {}

  std::vector<Claim> claims() override { return outlived; }
  std::vector<Slot> free() override {
    std::vector<Slot> slots = pool().free();
    for (Slot& slot : slots) slot.name = "fake";
    return slots;
  }
  std::optional<Slot> slot_after(TrialId trial, int attempt) override {
    auto slot = pool().slot_after(trial, attempt);
    if (slot) slot->name = "fake";
    return slot;
  }
  void start(int worker, const message::Train& train) override {
    started.push_back(train);
    if (on_start) on_start(worker, train.trial);
    pool().start(worker, train);
  }
  void acknowledge(const message::ReportAck& answer) override {
    answers.push_back(answer);
    if (on_answer) on_answer(answer);
    pool().acknowledge(answer);
  }
  void acknowledge(const message::EndAck& ack) override { pool().acknowledge(ack); }
  void broadcast(const AlgorithmChoices& choices) override { heard.push_back(choices); }
  void drop(TrialId trial) override {
    dropped.push_back(trial);
    pool().drop(trial);
  }
  void suspend() override {
    suspended_at.push_back(clock_.now);
    if (hears_suspend) pool().suspend();
  }
  void retire() override {
    is_retired = true;
    retired_at.push_back(clock_.now);
    pool().retire();
  }
  void hire() override { pool().hire(); }
  std::vector<PoolEvent> wait(double at_most_s) override {
    if (on_wait) on_wait();
    if (stop_at && waits++ == *stop_at) return {StopRequest{}};
    if (!extra.empty()) return std::exchange(extra, {});
    return pool().wait(at_most_s);
  }
  double held_s() override { return pool().held_s(); }
  int devices() override { return pool().devices(); }
  int workers() override { return pool().workers() + busy_others; }
  double most_memory() override { return pool().most_memory(); }

  std::map<TrialId, double>& left_s() { return pool().left_s(); }

  static double parabola(const message::Train& train, int epoch) {
    const double x = std::get<double>(train.params.front().second);
    return (x - 0.3) * (x - 0.3) + 1.0 / epoch;
  }

  int group_size = 1;           // these three are set before the first call
  std::size_t most_events = 1;  // that it returns at once
  std::vector<double> memory;   // bytes of each worker; none: without limit
  int busy_others = 0;          // workers that never become free
  double epoch_s = 1;
  std::function<double(const message::Train&, int epoch)> seconds;  // of an epoch; null: epoch_s
  std::vector<double> early_reports;  // parts of the first epoch, ascending
  std::function<double(const message::Train&, int epoch)> loss = parabola;
  std::function<NamedMetrics(const message::Train&, int epoch)> others;  // beside the loss
  std::function<bool(const message::Train&, int epoch)> is_best;         // null: all reports are
  std::function<Mishap(const message::Train&, int epoch)> mishap;
  std::optional<int> stop_at;  // the number of the wait that returns a StopRequest
  int waits = 0;
  std::function<void()> on_wait;
  std::vector<PoolEvent> extra;  // arrives with the next wait
  std::function<void(int worker, TrialId)> on_start;
  std::function<void(const message::ReportAck&)> on_answer;
  std::vector<Claim> outlived;
  std::vector<message::Train> started;
  std::vector<message::ReportAck> answers;
  std::vector<AlgorithmChoices> heard;  // the choices that were broadcast
  std::vector<TrialId> dropped;
  bool hears_suspend = true;  // in mid-epoch
  std::vector<double> suspended_at;
  bool is_retired = false;
  std::vector<double> retired_at;

 private:
  class Training final : public SimulatedTraining {
   public:
    Training(FakePool& pool, message::Train train) : pool_(pool), train_(std::move(train)) {}
    double seconds_after(double epochs) override {
      const int epoch = static_cast<int>(epochs) + 1;
      const double epoch_s = pool_.seconds ? pool_.seconds(train_, epoch) : pool_.epoch_s;
      return (pool_.next_report(epochs) - epochs) * epoch_s;
    }
    std::optional<PoolEvent> event_after(double epochs, double train_s) override {
      return pool_.happen(train_, pool_.next_report(epochs), train_s);
    }

   private:
    FakePool& pool_;
    const message::Train train_;
  };

  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    return std::make_unique<Training>(*this, train);
  }
  SimulatedPool& pool() {
    if (!pool_) {
      pool_ = std::make_unique<SimulatedPool>(SimulatedPoolSettings{.workers = workers_,
                                                                    .group_size = group_size,
                                                                    .most_events = most_events,
                                                                    .memory = memory},
                                              *this, clock_);
    }
    return *pool_;
  }
  double next_report(double epochs) const {
    for (const double part : early_reports) {
      if (part > epochs) return part;
    }
    return std::floor(epochs) + 1;
  }

  std::optional<PoolEvent> happen(const message::Train& train, double epochs,
                                  double train_s) const {
    const int epoch = static_cast<int>(std::ceil(epochs));  // that it trains
    const auto ended = [&](const Evaluation& evaluation,
                           message::Ended::Trouble trouble = message::Ended::Trouble::kNone) {
      return message::Ended{0, train.trial, train.attempt, trouble, evaluation};
    };
    const auto lost = [&](RequeueCause cause, const char* why) {
      return Lost{train.trial, train.attempt, {cause, why}};
    };
    switch (mishap ? mishap(train, epoch) : Mishap::kNone) {
      case Mishap::kNone:
        break;
      case Mishap::kDiverge:
        return ended({Evaluation::End::kFailed, Cause::kDiverged, "NaN"});
      case Mishap::kTooSlow:
        return ended({Evaluation::End::kFailed, Cause::kTooLarge, "latency 2 s > 1 s"});
      case Mishap::kNoMemory:
        return ended({Evaluation::End::kFailed, Cause::kOutOfMemory, "an allocation failed"});
      case Mishap::kBroken:
        return ended({}, message::Ended::Trouble::kCrash);
      case Mishap::kFullDisk:
        return ended({}, message::Ended::Trouble::kStorage);
      case Mishap::kHang:
        return std::nullopt;
      case Mishap::kKilled:
        return Lost{train.trial, train.attempt, {RequeueCause::kLost, "killed"}, true};
      case Mishap::kCutOff:
        return lost(RequeueCause::kLost, "no connection");
      case Mishap::kOomKilled:
        return lost(RequeueCause::kOutOfMemory, "killed by the system");
      case Mishap::kCrash:
        return lost(RequeueCause::kCrashed, "signal 11");
    }
    EpochReport report{.epoch = static_cast<int>(epochs),
                       .part = epochs - std::floor(epochs),
                       .metrics = {{"loss", loss(train, epoch) + (epoch - epochs)}},
                       .work = 10.0 * epochs,
                       .train_s = train_s,
                       .is_best = !is_best || is_best(train, epoch)};
    for (const auto& [name, value] : others ? others(train, epoch) : NamedMetrics())
      report.metrics.push_back({name, value});
    return message::Report{0, train.trial, train.attempt, std::move(report)};
  }

  const int workers_;
  VirtualClock& clock_;
  std::unique_ptr<SimulatedPool> pool_;
};

// One parameter x in [0, 1], `epochs` epochs, minimise loss. `refuses` makes candidates that
// are too large.
struct FakeStudy {
  explicit FakeStudy(int workers = 1, MemoryLedger earlier = {})
      : ledger(std::move(earlier)), pool(workers, clock) {
    config.study = "fake";
    config.seed = 7;
    config.space = SpaceBuilder().add_float("x", 0, 1, {.step = step}).build().value();
    config.objectives = {minimize("loss")};
    config.algorithm.name = "evolution";
    config.pruner.name = "none";
  }

  // Runs like a new master, which knows only what is in the ledger.
  Result<std::string> run() {
    DETOL_TRY(replay());
    return driver->run();
  }

  // Does everything that comes before the first trial.
  Result<void> replay() {
    driver = std::make_unique<Driver>(parts());
    return driver->replay(ledger.events(1).value());
  }

  // Makes what a driver works with.
  DriverParts parts() {
    config.max_epochs = epochs;
    if (inherit) config.inherit = Inherit::kNearest;
    pool.early_reports = config.early_reports;
    searcher = wrapped(fresh_searcher());
    pruner = make_pruner(config.pruner.name, pruner_settings_of(config)).value();
    return {
        .config = config,
        .candidates = candidates,
        .ledger = ledger,
        .study = 1,
        .searcher = *searcher,
        .pruner = *pruner,
        .pool = pool,
        .clock = clock,
        .observers = observers,
        .budget = parse_budget(budget).value(),
        .target = target,
        .folder = "artefacts",
        .initial = initial,
        .refits = refits,
        .asks = asks,
        .retry_failed = retry_failed,
        .requests = [this] { return requests ? requests() : waiting_requests; },
        .answered = [this](const RunRequest& request) { std::erase(waiting_requests, request); },
    };
  }

  std::unique_ptr<Searcher> fresh_searcher() const {
    if (config.algorithm.name == kFakeModel.name)
      return std::make_unique<FakeModel>(config.space, config.seed, "fake_model", fit_work);
    return make_searcher(config.algorithm.name, config.space,
                         {.seed = config.seed,
                          .objectives = config.objectives,
                          .options = {},
                          .constraints = config.metric_constraints.size()})
        .value();
  }

  tl::expected<Candidate, StudyConfig::Refused> decode(const Genome& genome) const {
    if (refuses && refuses(genome.number("x")))
      return tl::unexpected(StudyConfig::Refused{Cause::kTooLarge, "params 9 > 1", refused_cost});
    Candidate candidate{.network = NetworkBuilder({1, 1, 1}).build(0).value(),
                        .recipe = {},
                        .cost = {},
                        .arch_hash = arch_hash ? arch_hash(genome) : 0};
    candidate.recipe.epochs = own_epochs ? own_epochs(genome.number("x")) : epochs;
    return candidate;
  }

  // Returns every trial with the fields that must not depend on interruptions.
  std::string outcomes() const {
    std::string text;
    for (const TrialRecord& t : driver->state().trials()) {
      text += fmt::format("{} {} {} {} {} {} {}\n", t.trial.id, t.trial.genome.number("x"),
                          to_text(t.state), t.failure ? to_text(*t.failure) : "", t.epochs,
                          fmt::join(t.values, ","), t.work);
    }
    return text;
  }
  const TrialRecord& trial(TrialId id) const { return driver->state().trials().at(id); }

  double step = 0;
  int epochs = 4;
  StudyConfig config;
  std::string budget = "6trials";
  std::optional<Target> target;
  std::vector<Genome> initial;
  std::function<std::string(const Candidate&)> identify;
  std::function<std::optional<Fact>(const Candidate&)> network_fact;
  std::function<Result<std::optional<KnownTrial>>(const event::Asked&, const Candidate&)> recall;
  std::function<std::optional<ParentWeights>(const Trial&, const Candidate&, const StudyState&)>
      inherit;
  std::function<double(const Candidate&)> foreseen_bytes;
  std::function<NamedMetrics(const Candidate&)> cost_metrics;
  std::function<double(const Candidate&)> epoch_work;  // null: 10
  Refits refits = Refits::kAtOnce;
  AskSettings asks = {};
  std::function<void()> fit_work = [] {};  // called by the jobs of "fake_model"
  bool retry_failed = false;
  std::function<bool(double)> refuses;
  std::optional<Cost> refused_cost;
  std::function<std::uint64_t(const Genome&)> arch_hash;  // of each candidate; none: 0
  std::function<int(double)> own_epochs;                  // of a trial whose recipe is shorter
  std::vector<RunRequest> waiting_requests;
  std::function<std::vector<RunRequest>()> requests;  // null: those that wait
  std::vector<Observer*> observers;

  // Decorates the searcher.
  std::function<std::unique_ptr<Searcher>(std::unique_ptr<Searcher>)> wrapped =
      [](std::unique_ptr<Searcher> own) { return own; };

  // What the study's functions say; nothing where they are null.
  struct FakeCandidates final : Candidates {
    explicit FakeCandidates(FakeStudy& of) : study(of) {}
    Decoded decode(const Genome& genome) override { return study.decode(genome); }
    double foreseen_bytes(const Candidate& candidate) override {
      return study.foreseen_bytes ? study.foreseen_bytes(candidate) : 0;
    }
    double epoch_work(const Candidate& candidate) override {
      return study.epoch_work ? study.epoch_work(candidate) : 10;
    }
    NamedMetrics cost_metrics(const Genome& genome) override {
      if (!study.cost_metrics) return {};
      const auto candidate = study.decode(genome);
      return candidate ? study.cost_metrics(*candidate) : NamedMetrics();
    }
    std::string identity_of(const Candidate& candidate) override {
      return study.identify ? study.identify(candidate) : "";
    }
    std::optional<Fact> network_fact(const Candidate& candidate) override {
      return study.network_fact ? study.network_fact(candidate) : std::nullopt;
    }
    Result<std::optional<KnownTrial>> recall(const event::Asked& asked,
                                             const Candidate& candidate) override {
      if (!study.recall) return std::optional<KnownTrial>();
      return study.recall(asked, candidate);
    }
    std::optional<ParentWeights> inherit(const Trial& trial, const Candidate& candidate,
                                         const StudyState& state) override {
      return study.inherit ? study.inherit(trial, candidate, state) : std::nullopt;
    }
    FakeStudy& study;
  };

  FakeCandidates candidates{*this};
  VirtualClock clock;
  MemoryLedger ledger;
  FakePool pool;
  std::unique_ptr<Searcher> searcher;
  std::unique_ptr<Pruner> pruner;
  std::unique_ptr<Driver> driver;
};

// Returns a request to stop, or none.
inline std::vector<RunRequest> stop_if(bool is_wanted) {
  return is_wanted ? std::vector<RunRequest>{{RunRequest::kStop}} : std::vector<RunRequest>();
}

}  // namespace detol::testing_support
