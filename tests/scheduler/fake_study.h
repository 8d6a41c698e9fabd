#pragma once

// A whole study without a process, a file or a clock: a pool of workers in virtual time that
// train by formula, and a ledger in memory.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "scheduler/driver.h"
#include "tests/search/fake_model.h"

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
  Result<void> append(StudyId, std::span<const Event> events,
                      std::span<const Fact> facts) override {
    if (full-- > 0) return fail(ErrorCode::kStorage, "the disk is full");
    transactions.emplace_back(events.begin(), events.end());
    known.insert(known.end(), facts.begin(), facts.end());
    if (on_append) on_append();
    return {};
  }
  bool may_retry() const override { return true; }
  Result<std::vector<StudyRecord>> studies() override { return std::vector<StudyRecord>(); }
  Result<std::vector<event::Source::Trial>> outcomes(StudyId) override {
    return std::vector<event::Source::Trial>();
  }
  Result<std::optional<KnownTrial>> known_trial(const std::string&, StudyId) override {
    return std::nullopt;
  }
  Result<void> record_facts(std::span<const Fact>) override { return {}; }
  Result<std::vector<Fact>> facts(const std::string&) override { return known; }
  Result<std::optional<Fact>> fact(const std::string&, const std::string&) override {
    return std::nullopt;
  }
  Result<StudyRecord> open_study(const std::string&) override { return StudyRecord{}; }
  Result<StudyRecord> study(const std::string&) override { return StudyRecord{}; }
  Result<std::vector<Event>> events(StudyId) override {
    std::vector<Event> all;
    for (const auto& t : transactions) all.insert(all.end(), t.begin(), t.end());
    return all;
  }
  std::vector<std::vector<Event>> transactions;
  std::vector<Fact> known;
  int full = 0;  // number of appends that will fail
  std::function<void()> on_append;
};

// The event that happens to a training trial at one of its epochs, instead of a report.
enum class Mishap {
  kNone,
  kKilled,     // by a signal from outside
  kCrash,      // by a signal of its own
  kOomKilled,  // by the system's OOM killer
  kDiverge,    // the trainer says so
  kNoMemory,   // the trainer says so
  kTooSlow,    // the trainer says so
  kBroken,     // an unexpected error
  kFullDisk,   // its checkpoint cannot be written
  kHang,
};

// `workers` workers; epoch e of a trial takes epoch_s (or seconds()) and reports loss(train, e).
// After suspend(), a worker ends in mid-epoch, and a later attempt trains the rest of that epoch.
class FakePool final : public Pool {
 public:
  FakePool(int workers, VirtualClock& clock)
      : clock_(clock),
        busy_(static_cast<size_t>(workers)),
        released_s_(static_cast<size_t>(workers)) {}

  std::vector<Claim> claims() override { return outlived; }
  std::vector<Slot> free() override {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      if (!busy_[i] && !released_s_[i]) slots.push_back({static_cast<int>(i), "fake", group_size});
    }
    return slots;
  }
  void start(int worker, const message::Train& train) override {
    started.push_back(train);
    const auto suspended = left_s.extract(train.trial);
    busy_[static_cast<std::size_t>(worker)] =
        Training{train, next_report(train.acknowledged),
                 clock_.now + (suspended.empty() ? seconds_to_report(train, train.acknowledged)
                                                 : suspended.mapped())};
  }
  void acknowledge(const message::ReportAck& answer) override {
    answers.push_back(answer);
    if (on_answer) on_answer(answer);
    for (auto& worker : busy_) {
      if (!worker || worker->train.trial != answer.trial) continue;
      const double next_s = seconds_to_report(worker->train, answer.epochs);
      worker->due_s = clock_.now + (answer.verdict == Verdict::kContinue ? next_s : 0);
      worker->end = answer.verdict;
      worker->epochs = next_report(answer.epochs);
    }
  }
  void acknowledge(const message::EndAck&) override {}
  void broadcast(const AlgorithmChoices& choices) override { heard.push_back(choices); }
  void drop(TrialId trial) override {
    dropped.push_back(trial);
    for (auto& worker : busy_) {
      if (worker && worker->train.trial == trial) worker.reset();
    }
  }
  void suspend() override {
    suspended_at.push_back(clock_.now);
    for (auto& worker : busy_) {
      if (!hears_suspend || !worker || worker->due_s > 1e17) continue;
      left_s[worker->train.trial] = worker->due_s - clock_.now;
      worker->end = Verdict::kSuspend;
      worker->due_s = clock_.now;
    }
  }
  void retire() override {
    is_retired = true;
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      if (!busy_[i] && !released_s_[i]) released_s_[i] = clock_.now;
    }
  }
  std::vector<PoolEvent> wait(double at_most_s) override {
    const double step_s = std::min(1.0, at_most_s);
    if (on_wait) on_wait();
    if (stop_at && waits++ == *stop_at) return {StopRequest{}};
    if (!extra.empty()) return std::exchange(extra, {});
    std::optional<Training>* next = nullptr;
    for (auto& worker : busy_) {
      if (worker && (next == nullptr || worker->due_s < (*next)->due_s)) next = &worker;
    }
    if (next == nullptr || (*next)->due_s > clock_.now + step_s)
      return clock_.now += step_s, no_events();
    clock_.now = std::max(clock_.now, (*next)->due_s);
    return happen(*next);
  }
  double held_s() override {
    double sum = 0;
    for (const auto& released_s : released_s_) sum += released_s.value_or(clock_.now);
    return sum;
  }
  int devices() override {
    return static_cast<int>(std::ranges::count(released_s_, std::optional<double>()));
  }

  static double parabola(const message::Train& train, int epoch) {
    const double x = std::get<double>(train.params.front().second);
    return (x - 0.3) * (x - 0.3) + 1.0 / epoch;
  }

  int group_size = 1;
  double epoch_s = 1;
  std::function<double(const message::Train&, int epoch)> seconds;  // of an epoch; null: epoch_s
  std::vector<double> early_reports;  // parts of the first epoch, ascending
  std::function<double(const message::Train&, int epoch)> loss = parabola;
  std::function<NamedMetrics(const message::Train&, int epoch)> others;  // beside the loss
  std::function<Mishap(const message::Train&, int epoch)> mishap;
  std::optional<int> stop_at;  // the number of the wait that returns a StopRequest
  int waits = 0;
  std::function<void()> on_wait;
  std::vector<PoolEvent> extra;  // arrives with the next wait
  std::function<void(const message::ReportAck&)> on_answer;
  std::vector<Claim> outlived;
  std::vector<message::Train> started;
  std::vector<message::ReportAck> answers;
  std::vector<AlgorithmChoices> heard;  // the choices that were broadcast
  std::vector<TrialId> dropped;
  bool hears_suspend = true;         // in mid-epoch
  std::map<TrialId, double> left_s;  // the rest of the epoch in which a trial was suspended
  std::vector<double> suspended_at;
  bool is_retired = false;

 private:
  struct Training {
    message::Train train;
    double epochs = 1;  // at the next report
    double due_s = 0;
    Verdict end = Verdict::kContinue;
  };
  static std::vector<PoolEvent> no_events() { return {}; }
  double seconds_of(const message::Train& train, int epoch) const {
    return seconds ? seconds(train, epoch) : epoch_s;
  }
  double next_report(double epochs) const {
    for (const double part : early_reports) {
      if (part > epochs) return part;
    }
    return std::floor(epochs) + 1;
  }
  double seconds_to_report(const message::Train& train, double epochs) const {
    const double share = next_report(epochs) - epochs;
    return share * seconds_of(train, static_cast<int>(epochs) + 1);
  }
  double report_before(double epochs) const {
    double before = std::max(0.0, std::ceil(epochs) - 1);
    for (const double part : early_reports) {
      if (part < epochs) before = std::max(before, part);
    }
    return before;
  }

  std::vector<PoolEvent> happen(std::optional<Training>& worker) {
    const Training now = *worker;
    const int epoch = static_cast<int>(std::ceil(now.epochs));  // that it trains
    const double train_s = seconds_to_report(now.train, report_before(now.epochs));
    const auto ended = [&](const Evaluation& evaluation,
                           message::Ended::Trouble trouble = message::Ended::Trouble::kNone) {
      worker.reset();
      return std::vector<PoolEvent>{
          message::Ended{0, now.train.trial, now.train.attempt, trouble, evaluation}};
    };
    if (now.end == Verdict::kStop) return ended({Evaluation::End::kFinished, {}, ""});
    if (now.end == Verdict::kSuspend) {
      const auto left = left_s.find(now.train.trial);
      return ended({.end = Evaluation::End::kSuspended,
                    .reason = "",
                    .unreported_s = left == left_s.end() ? 0 : train_s - left->second});
    }
    switch (mishap ? mishap(now.train, epoch) : Mishap::kNone) {
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
        return worker->due_s = 1e18, no_events();
      case Mishap::kKilled:
        worker.reset();
        return {Lost{now.train.trial, now.train.attempt, {RequeueCause::kLost, "killed"}}};
      case Mishap::kOomKilled:
        worker.reset();
        return {Lost{now.train.trial,
                     now.train.attempt,
                     {RequeueCause::kOutOfMemory, "killed by the system"}}};
      case Mishap::kCrash:
        worker.reset();
        return {Lost{now.train.trial, now.train.attempt, {RequeueCause::kCrashed, "signal 11"}}};
    }
    worker->due_s = 1e18;  // until the answer
    EpochReport report{.epoch = static_cast<int>(now.epochs),
                       .part = now.epochs - std::floor(now.epochs),
                       .metrics = {{"loss", loss(now.train, epoch) + (epoch - now.epochs)}},
                       .work = 10.0 * now.epochs,
                       .train_s = train_s};
    for (const auto& [name, value] : others ? others(now.train, epoch) : NamedMetrics())
      report.metrics.push_back({name, value});
    return {message::Report{0, now.train.trial, now.train.attempt, std::move(report)}};
  }

  VirtualClock& clock_;
  std::vector<std::optional<Training>> busy_;
  std::vector<std::optional<double>> released_s_;  // when a worker was retired
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
    config.max_epochs = epochs;
    pool.early_reports = config.early_reports;
    searcher = fresh_searcher();
    pruner = make_pruner(config.pruner.name, pruner_settings_of(config)).value();
    driver = std::make_unique<Driver>(DriverParts{
        .config = config,
        .decode = [this](const Genome& genome) { return decode(genome); },
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
        .identify = identify,
        .cost_metrics = cost_metrics,
        .epoch_work =
            [this](const Candidate& candidate) { return epoch_work ? epoch_work(candidate) : 10; },
        .network_fact = network_fact,
        .recall = recall,
        .refits = refits,
        .asks = asks,
        .retry_failed = retry_failed,
        .is_stop_requested = is_stop_requested,
    });
    return driver->replay(ledger.events(1).value());
  }

  std::unique_ptr<Searcher> fresh_searcher() const {
    if (config.algorithm.name == kFakeModel.name)
      return std::make_unique<FakeModel>(config.space, config.seed, "fake_model", fit_work);
    return make_searcher(config.algorithm.name, config.space,
                         {.seed = config.seed, .objectives = config.objectives, .options = {}})
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
  std::function<Result<std::optional<KnownTrial>>(const event::Asked&)> recall;
  CostMetrics cost_metrics;
  std::function<double(const Candidate&)> epoch_work;  // null: 10
  Refits refits = Refits::kAtOnce;
  AskSettings asks = {};
  std::function<void()> fit_work = [] {};  // called by the jobs of "fake_model"
  bool retry_failed = false;
  std::function<bool(double)> refuses;
  std::optional<Cost> refused_cost;
  std::function<std::uint64_t(const Genome&)> arch_hash;  // of each candidate; none: 0
  std::function<int(double)> own_epochs;                  // of a trial whose recipe is shorter
  std::function<bool()> is_stop_requested = [] { return false; };
  std::vector<Observer*> observers;

  VirtualClock clock;
  MemoryLedger ledger;
  FakePool pool;
  std::unique_ptr<Searcher> searcher;
  std::unique_ptr<Pruner> pruner;
  std::unique_ptr<Driver> driver;
};

template <typename E>
std::vector<E> events_of(MemoryLedger& ledger) {
  std::vector<E> found;
  const std::vector<Event> all = ledger.events(1).value();
  for (const Event& event : all) {
    if (const auto* e = std::get_if<E>(&event)) found.push_back(*e);
  }
  return found;
}

}  // namespace detol::testing_support
