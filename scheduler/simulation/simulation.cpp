#include "scheduler/simulation/simulation.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/json_text.h"
#include "scheduler/driver.h"
#include "scheduler/run/candidate_costs.h"
#include "scheduler/search_parts.h"
#include "scheduler/simulation/charged_ledger.h"
#include "scheduler/simulation/measured_pool.h"
#include "scheduler/simulation/measured_searcher.h"
#include "scheduler/simulation/simulated_pool.h"
#include "scheduler/simulation/training_models.h"
#include "trainer/evaluator.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

// Watcher collects what becomes of the study.
class Watcher final : public Observer {
 public:
  Watcher(SimulationReport& report, Direction direction, VirtualClock& clock, Pool& pool)
      : report_(report), direction_(direction), clock_(clock), pool_(pool) {}

  void happened(const Event& event, const StudyState& state) override {
    if (const auto* requeued = std::get_if<event::Requeued>(&event))
      report_.losses += requeued->reason.cause == RequeueCause::kLost ? 1 : 0;
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      report_.fallbacks += asked->proposer == kFallback ? 1 : 0;
      report_.fresh += asked->proposer != kFallback && asked->behind <= kFreshBehind ? 1 : 0;
    }
    const auto* reported = std::get_if<event::Reported>(&event);
    if (reported == nullptr) return;
    const TrialRecord* best = state.best();
    auto& all = report_.improvements;
    if (best == nullptr) return;
    const double value = best->values.front();
    if (!all.empty() && !is_better(direction_, value, all.back().value)) return;
    all.push_back({pool_.held_s(), clock_.now, best->trial.id, value});
  }

 private:
  SimulationReport& report_;
  const Direction direction_;
  VirtualClock& clock_;
  Pool& pool_;
};

// The fact that says how the study was simulated.
Fact fact_of(const SimulationSettings& settings, const AskTimes& ask_times) {
  const PaceSettings& pace = settings.pace;
  Json payload = {{"workers", settings.workers},
                  {"group_size", settings.group_size},
                  {"seed", settings.config.seed},
                  {"ask_ms", ask_times.text()},
                  {"commit_ms", settings.commit_s * 1e3},
                  {"work_per_s", pace.work_per_s},
                  {"report_every_s", pace.report_every_s},
                  {"losses_per_device_h", settings.losses_per_device_h},
                  {"restart_s", settings.restart_s}};
  if (pace.trial_s) payload["trial_s"] = {pace.trial_s->low, pace.trial_s->high};
  if (settings.curves) {
    payload["curves"] = to_hex(hash64(to_json_lines(*settings.curves)));
    payload["start_s"] = settings.curves->start_s;
  }
  const std::string text = compact(payload);
  return {kSimulationFact, to_hex(hash64(text)), text};
}

Result<std::unique_ptr<Ledger>> open_ledger(const std::filesystem::path& path) {
  if (path.empty()) return std::unique_ptr<Ledger>();
  return Ledger::open(path);
}

// SimulatedCandidates: those of a study whose trainings take as long as the pace says.
struct SimulatedCandidates final : Candidates {
  const SimulationSettings& settings;
  StudyConfig config;
  Pace pace;
  Admission admit;
  CandidateCosts costs;

  SimulatedCandidates(const SimulationSettings& given, Admission admission)
      : settings(given),
        config(settings.config),
        pace(settings.config.space, config.seed, settings.pace),
        admit(std::move(admission)),
        costs(config, settings.data, settings.group_size) {
    config.max_epochs = pace.most_epochs(config.max_epochs);
    if (settings.pace.report_every_s > 0) config.early_reports.clear();
  }
  SimulatedCandidates(const SimulatedCandidates&) = delete;
  SimulatedCandidates& operator=(const SimulatedCandidates&) = delete;

  Decoded decode(const Genome& genome) override {
    if (auto refused = admit(genome)) return tl::unexpected(*std::move(refused));
    Decoded candidate = settings.config.candidate(genome, settings.data.task);
    if (candidate) candidate->recipe.epochs = pace.epochs(genome, candidate->recipe.epochs);
    return candidate;
  }
  std::optional<StudyConfig::Refused> refusal_of(const Candidate& candidate) override {
    return costs.refusal_of(candidate);
  }
  double epoch_work(const Candidate& candidate) override {
    return config.trains() ? detol::epoch_work(candidate, settings.data) : 0;
  }
  NamedMetrics cost_metrics(const Genome& genome) override {
    if (!costs.has_metrics()) return {};
    const Decoded candidate = decode(genome);
    return candidate ? costs.metrics(*candidate) : NamedMetrics();
  }
};

// Trainings makes the model of the settings, and what it needs.
struct Trainings {
  std::unique_ptr<Evaluator> evaluator;  // of a function or a table
  std::unique_ptr<TrainingModel> inner;
  std::unique_ptr<TrainingModel> losing;   // null: no worker is lost
  std::unique_ptr<TrainingModel> ranking;  // null: the last epochs count

  TrainingModel& model() { return ranking ? *ranking : losing ? *losing : *inner; }
};

Result<Trainings> make_trainings(const SimulationSettings& settings, SimulatedCandidates& of) {
  Trainings trainings;
  const ModelContext context{of.config, of.pace, of};
  if (settings.curves) {
    trainings.inner = make_recorded_model(context, *settings.curves);
  } else if (of.config.trains()) {
    trainings.inner = make_power_law_model(context);
  } else {
    DETOL_ASSIGN(trainings.evaluator, make_evaluator(of.config, {}));
    trainings.inner = make_evaluated_model(context, *trainings.evaluator);
  }
  if (settings.losses_per_device_h > 0)
    trainings.losing = with_losses(*trainings.inner, settings.losses_per_device_h,
                                   settings.group_size, of.config.seed);
  if (const auto ranking = epoch_ranking_of(of.config))
    trainings.ranking = with_ranking(trainings.model(), *ranking);
  return trainings;
}

// Creates the study, with the fact that says how it is simulated.
Result<StudyId> create_study(Ledger& ledger, const SimulationSettings& settings,
                             const AskTimes& ask_times) {
  const std::string budget = to_text(settings.budget);
  DETOL_ASSIGN(const StudyId study,
               ledger.create_study({.name = settings.config.study,
                                    .config = settings.config.text,
                                    .budget = budget,
                                    .data_fingerprint = settings.data.fingerprint,
                                    .objectives = settings.config.objectives,
                                    .created_s = VirtualClock::kStartS}));
  const Event running =
      event::StudyState{StudyPhase::kRunning, budget, VirtualClock::kStartS, "simulated"};
  const Fact fact = fact_of(settings, ask_times);
  DETOL_TRY(ledger.append(study, {&running, 1}, {&fact, 1}));
  return study;
}

// Adds what became of the trials and of the workers.
void add_counts(const StudyState& state, SimulatedPool& workers, const VirtualClock& clock,
                SimulationReport& report) {
  const auto count = [&](TrialState wanted) {
    return static_cast<int>(state.in_state(wanted).size());
  };
  report.asked = static_cast<int>(state.trials().size());
  report.finished = count(TrialState::kComplete);
  report.pruned = count(TrialState::kPruned);
  report.failed = count(TrialState::kFail);
  report.waiting = count(TrialState::kWaiting);
  report.trained = static_cast<int>(state.spent().trials);
  report.work = state.spent().work;
  report.wall_s = clock.now;
  report.device_s = workers.held_s();
  report.busy_s = workers.busy_s();
}

std::int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

// Master: the parts of the real one, which counted what they did.
struct Master {
  const MeasuredPool& pool;
  const ChargedLedger& ledger;
  const MeasuredSearcher& searcher;
};

// Adds what the simulation itself cost, since `began_s` of the thread's time.
void add_costs(const Master& master, double began_s, SimulationReport& report) {
  report.messages = master.pool.messages();
  report.commits = master.ledger.commits();
  report.events = master.ledger.events_written();
  report.proposals = master.searcher.proposals();
  report.real_s = thread_seconds() - began_s;
  report.real_master_s = report.real_s - master.pool.workers_s();
  report.real_asking_s = master.searcher.real_s();
  report.real_decision_p50_s = master.pool.decisions().quantile(0.5);
  report.real_decision_p99_s = master.pool.decisions().quantile(0.99);
  report.peak_bytes = peak_bytes();
}

}  // namespace

Result<SimulationReport> simulate(const SimulationSettings& given) {
  SimulationSettings settings = given;
  DETOL_ASSIGN(settings.config, for_new_study(given.config));
  settings.pace.ranks = settings.group_size;
  if (settings.budget.is_unlimited() && !settings.budget.trials)
    return fail(ErrorCode::kInput,
                "a simulation ends with its budget, and there is none; give one with --budget");
  const double began_s = thread_seconds();
  VirtualClock clock;
  DETOL_ASSIGN(Admission admit, make_admission(settings.config));
  SimulatedCandidates candidates(settings, std::move(admit));
  const StudyConfig& config = candidates.config;
  DETOL_ASSIGN(Trainings trainings, make_trainings(settings, candidates));
  SimulatedPool workers({.workers = settings.workers,
                         .group_size = settings.group_size,
                         .restart_s = settings.restart_s},
                        trainings.model(), clock);
  MeasuredPool pool(workers);
  DETOL_ASSIGN(const auto inner, make_searcher(config.algorithm.name, config.space,
                                               {.seed = config.seed,
                                                .objectives = config.objectives,
                                                .options = config.algorithm.options,
                                                .constraints = config.metric_constraints.size()}));
  const AskTimes ask_times = settings.ask_times.value_or(AskTimes::of(config.algorithm.name));
  MeasuredSearcher searcher(*inner);
  DETOL_ASSIGN(const SearchParts parts, assemble_search(config));
  DETOL_ASSIGN(auto kept, open_ledger(settings.ledger));
  ChargedLedger ledger(std::move(kept), settings.commit_s, clock);
  DETOL_ASSIGN(const StudyId study, create_study(ledger, settings, ask_times));

  SimulationReport report;
  Watcher watcher(report, config.objectives.front().direction, clock, pool);
  Driver driver({.config = config,
                 .candidates = candidates,
                 .ledger = ledger,
                 .study = study,
                 .searcher = searcher,
                 .pruner = *parts.pruner,
                 .pool = pool,
                 .clock = clock,
                 .observers = {&watcher},
                 .budget = settings.budget,
                 .initial = parts.initial,
                 .asks = {.asks = Asks::kVirtual,
                          .fallback = parts.fallback.get(),
                          .seconds = [&](std::int64_t told) {
                            return ask_times.seconds(static_cast<double>(told));
                          }}});
  const Result<std::string> ended = driver.run();
  report.has_failed = !ended && ended.error().code == ErrorCode::kFailures;
  if (!ended && !report.has_failed) return tl::unexpected(ended.error());
  report.ended = ended ? *ended : ended.error().message;
  add_counts(driver.state(), workers, clock, report);
  add_costs({pool, ledger, searcher}, began_s, report);
  return report;
}

}  // namespace detol::inline scheduler
