#pragma once

// Evaluator: gives one candidate its score. It runs in a worker process, reports after every epoch,
// and receives a verdict whether to continue.
//
// An evaluation depends only on its Job and the data, however often it was interrupted: all random
// numbers come from the job's seed.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "encodings/study/study_config.h"
#include "trainer/collectives/group.h"
#include "trainer/data/dataset.h"
#include "trainer/reports/algorithm_choices.h"
#include "trainer/reports/epoch_ranking.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline trainer {

// The metric of trials that have a parent: the share of their trainable numbers that began as the
// parent's; 0 if the parent's checkpoint was of no use.
inline constexpr std::string_view kInheritedMetric = "inherited";

// Returns the work of one epoch of a candidate: forward FLOPs x images trained, as the built-in
// trainer reports it. The images that fill no batch are not trained.
double epoch_work(const Candidate& candidate, const DatasetInfo& data);

// Parent: the trained network whose weights a job begins with, of a checkpoint in kParentFolder of
// the job's folder.
struct Parent {
  TrialId trial = 0;
  double epochs = 0;
  Network network;
  std::uint64_t arch_hash = 0;
};
inline constexpr std::string_view kParentFolder = "parent";

struct Job {
  TrialId trial = 0;
  int attempt = 1;
  std::uint64_t seed = 0;  // for weights, shuffling, augmentation, dropout
  Candidate candidate;
  Genome genome = {};            // from which the candidate was decoded
  std::filesystem::path folder;  // for checkpoints; created if missing
  double acknowledged = 0;       // epochs whose reports the master already has
  int micro_batches = 1;         // run in turn in each step, to save memory
  std::optional<Parent> parent = {};
};

// Control connects a training with the thread that supervises it.
struct Control {
  std::atomic<std::uint64_t> progress{0};  // incremented at every step, for the watchdog
  std::atomic<bool> suspend{false};        // request to write a checkpoint and end
  // The epochs before which nobody decides about the trial: reports of fewer may be sent later, in
  // a group with the next ones.
  std::atomic<double> undecided{0};
};

// Called after epochs and early reports, once a checkpoint that covers them is durable, in order
// and without gaps from the first one after job.acknowledged: what a found checkpoint already
// contains is reported first. `more`: other reports follow at once, and the verdict does not count.
using Reporter = std::function<Verdict(const EpochReport&, bool more)>;

// Writes the files that say to a program of the user which network it trains (kNetworkFiles) into
// the job's folder, each whole or not at all. Errors: kStorage; others are of the candidate.
using NetworkWriter = std::function<Result<void>(const StudyConfig&, const Job&)>;

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Trains until the recipe's epochs are done or the reporter ends it. An Error is a fault of the
  // infrastructure (a full disk, a missing file); faults of the candidate are End::kFailed. In a
  // group every rank makes the same call; the leader's folder, `control.suspend` and reporter
  // count, its verdicts reach every rank.
  virtual Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) = 0;
};

struct TrainerOptions {
  std::string backend = "cpu";  // a name of backends()
  Group* group = &alone();      // outlives the evaluator
  int program_ranks = 1;        // of a program of the user, which this one process starts
  int program_threads = 1;      // that all ranks of such a program have together
  int batches_ahead = 0;        // prefetched by a thread; changes no bit
  // The study's record, on the leader, for recipes that are not deterministic; outlives the
  // evaluator. Null: no choices are recorded, and the backend's fixed rule is used.
  AlgorithmRecord* choices = nullptr;
  // Images of the forward pass that is timed before the first epoch of a trial, for the metric
  // latency; 0: none is.
  int latency_batch = 0;
  // Of the metric latency: a candidate that breaks one is not trained.
  std::vector<MetricConstraint> latency_constraints = {};
  std::optional<EpochRanking> ranking = {};  // nullopt: the last epoch counts
  // Whether the leader writes what the data's inputs are made of beside the jobs' folders
  // (trainer/data/preprocessing.h), for exports.
  bool writes_preprocessing = false;
  // Of the networks that a program of the user trains; null: it is told none.
  NetworkWriter write_network = nullptr;
};

// Makes the built-in trainer, which keeps the data of the study's config in memory between
// candidates.
Result<std::unique_ptr<Evaluator>> make_trainer(const DataConfig& data,
                                                const TrainerOptions& options);

// Returns why a candidate is refused before a worker evaluates it; nullopt if it is admitted. Safe
// to call from any thread.
using Admission = std::function<std::optional<StudyConfig::Refused>(const Genome& genome)>;

// EvaluatorRow is one kind of evaluator.
struct EvaluatorRow {
  std::string_view name;
  std::string_view summary;
  bool (*scores)(const StudyConfig& config);  // true if this one evaluates the study
  Result<DatasetInfo> (*inspect)(const StudyConfig& config);
  Result<std::unique_ptr<Evaluator>> (*make)(const StudyConfig& config,
                                             const TrainerOptions& options);
  Result<Admission> (*admit)(const StudyConfig& config) = nullptr;  // null: all are admitted
};

// Returns every evaluator; the first that `scores` a study evaluates it, and the last scores any.
std::span<const EvaluatorRow> evaluators();

// Checks the study's data and returns their description; empty if no data are needed.
Result<DatasetInfo> inspect_study(const StudyConfig& config);

// Makes the checks of a candidate against the study's data, in addition to StudyConfig::candidate.
Result<Admission> make_admission(const StudyConfig& config);

// Makes the study's evaluator. Errors: kUsage for an unknown backend.
Result<std::unique_ptr<Evaluator>> make_evaluator(const StudyConfig& config,
                                                  const TrainerOptions& options);

}  // namespace detol::inline trainer
