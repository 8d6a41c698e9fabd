#pragma once

// Evaluator: gives one candidate its score. It runs in a worker process, reports after
// every epoch, and is told there whether to continue.
//
// An evaluation is a function of its Job and the data alone, however often it was
// interrupted: whatever is random comes from the job's seed.

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
#include "trainer/backends/algorithm_choices.h"
#include "trainer/collectives/group.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

struct Metric {
  std::string name;  // val_accuracy, val_loss, train_loss, ...
  double value = 0;
};

// EpochReport holds the metrics of one epoch. Epochs count from 1; work is cumulative over the
// trial.
struct EpochReport {
  int epoch = 0;
  std::vector<Metric> metrics;
  double work = 0;     // forward FLOPs x images trained, since the trial's start
  double train_s = 0;  // seconds this epoch took, training and validation, as spent: never compared
};

// Verdict decides about the trial after a reported epoch.
enum class Verdict {
  kContinue,  // train the next epoch
  kStop,      // finished: pruned, out of budget, or complete
  kSuspend,   // the process must end now; the checkpoint stands and the trial resumes later
};

struct Job {
  TrialId trial = 0;
  int attempt = 1;
  std::uint64_t seed = 0;  // the trial's own: weights, shuffling, augmentation, dropout
  Candidate candidate;
  Genome genome = {};            // that the candidate was made from
  std::filesystem::path folder;  // for checkpoints; created if missing
  int acknowledged = 0;          // epochs whose reports the master already has
  int micro_batches = 1;         // trained one after the other in a step: less memory
};

// The line between a training and whoever watches it from another thread.
struct Control {
  std::atomic<std::uint64_t> progress{0};  // raised at every step, for the watchdog
  std::atomic<bool> suspend{false};  // asks the training to checkpoint at the next step and end
};

// Called after each epoch, its checkpoint durable, in order and without gaps from
// job.acknowledged + 1: epochs that a found checkpoint already holds are reported first.
using Reporter = std::function<Verdict(const EpochReport&)>;

// Evaluation says how an evaluation ended.
struct Evaluation {
  enum class End { kFinished, kSuspended, kFailed } end = End::kFinished;
  Cause cause = Cause::kDiverged;  // kFailed
  std::string reason;              // kFailed: one line
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Trains until the recipe's epochs are done or the reporter says otherwise. An Error is
  // the infrastructure's fault (a full disk, a vanished file); the candidate's own faults
  // are Evaluation::kFailed. In a group every rank makes the same call; the leader's folder,
  // `control.suspend` and reporter count, its verdicts reach every rank.
  virtual Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) = 0;
};

struct TrainerOptions {
  std::string backend = "onednn";  // a name of backends()
  Group* group = &alone();         // outlives the evaluator
  int batches_ahead = 0;           // made by a thread of their own; changes no bit
  // The study's record, on the leader, for recipes that are not deterministic; outlives the
  // evaluator. Nullptr: nobody keeps choices, and the backend's fixed rule holds.
  AlgorithmRecord* choices = nullptr;
};

// The built-in trainer: the data of the study's config, kept in memory between candidates.
Result<std::unique_ptr<Evaluator>> make_trainer(const DataConfig& data,
                                                const TrainerOptions& options);

// Why a candidate is not worth a worker's time; nullopt if it may be. Safe to call from any
// thread.
using Admission = std::function<std::optional<StudyConfig::Refused>(const Genome& genome)>;

// EvaluatorRow is one kind of evaluator.
struct EvaluatorRow {
  std::string_view name;
  std::string_view summary;
  bool (*scores)(const StudyConfig& config);  // true if the space file asks for this one
  Result<DatasetInfo> (*inspect)(const StudyConfig& config);
  Result<std::unique_ptr<Evaluator>> (*make)(const StudyConfig& config,
                                             const TrainerOptions& options);
  Result<Admission> (*admit)(const StudyConfig& config) = nullptr;  // null: all are admitted
};

// Every evaluator; the first that `scores` a study is its own, the last scores all.
std::span<const EvaluatorRow> evaluators();

// Checks the study's data and returns what they are; empty where no data are needed.
Result<DatasetInfo> inspect_study(const StudyConfig& config);

// Makes the checks of a candidate against the study's data, beside StudyConfig::candidate.
Result<Admission> make_admission(const StudyConfig& config);

// Errors: kUsage for an unknown backend.
Result<std::unique_ptr<Evaluator>> make_evaluator(const StudyConfig& config,
                                                  const TrainerOptions& options);

}  // namespace detol::inline trainer
