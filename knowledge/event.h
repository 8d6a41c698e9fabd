#pragma once

// Events: what happened in a study, in order. Everything known of its trials and models is computed
// from them. A ledger writes them (ledger.h); it says which of them repeat an earlier one.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encodings/space/trial.h"
#include "knowledge/states.h"

namespace detol::inline knowledge {

namespace event {

// Asked: the searcher proposed a trial. A trial that is refused before training has its Told in
// the same transaction.
struct Asked {
  TrialId trial = 0;
  std::vector<std::pair<std::string, Value>> params;  // the active choices
  std::string proposer;                               // algorithm, or "initial", "warm_start"
  std::string arch_hash;  // 16 hexadecimal digits; empty if it could not be decoded
  std::optional<std::int64_t> network_params = {};  // nullopt: could not be counted
  std::optional<std::int64_t> flops = {};
  double at_s = 0;  // wall time, for display only
  // 16 hexadecimal digits, equal for candidates whose training gives equal numbers but for the
  // random seed, in any study; empty: nothing is trained.
  std::string identity = {};
  // Outcomes that had been told to the study, but not yet to the searcher when it made this
  // proposal.
  int behind = 0;
  std::optional<ParentWeights> inherits = {};  // decided before anything uses them
};

// Started: a worker took the trial. Attempts count from 1.
struct Started {
  TrialId trial = 0;
  int attempt = 1;
  std::string worker;
  double at_s = 0;
  int group_size = 1;     // ranks that train it
  int micro_batches = 1;  // more than one after it ran out of memory
};

// Reported: an epoch, or a part of the first, was trained, and its checkpoint is durable. `step`
// identifies it within its attempt: the optimiser's steps since the trial began. 0: none are
// counted; append() replaces it by the epoch.
struct Reported {
  TrialId trial = 0;
  int attempt = 1;
  int epoch = 0;  // finished
  std::vector<std::pair<std::string, double>> metrics;
  double work = 0;     // cumulative over the trial
  double train_s = 0;  // device seconds spent since the last report
  std::int64_t step = 0;
  double part = 0;      // of the next epoch that is trained, too
  bool is_best = true;  // the trial's value is of this report until a later one is the best

  double epochs() const { return epoch + part; }
};

// Told: the trial's outcome was told to the searcher. A later Told replaces the earlier one
// (a pruned trial that was resumed).
struct Told {
  TrialId trial = 0;
  TrialState state = TrialState::kComplete;  // or kPruned, kFail
  EndReason reason = {};
  Outcome outcome;
  double at_s = 0;
  double unreported_s = 0;  // as in Requeued; of a trial that the budget ended inside an epoch
};

// Requeued: the trial is WAITING again. See RequeueCause for the reasons.
struct Requeued {
  TrialId trial = 0;
  int attempt = 1;  // the attempt that ended
  RequeueReason reason = {};
  double unreported_s = 0;  // device seconds spent so far on the epoch that it has begun
};

// Refit: a model of the searcher was fitted to all outcomes told so far (search/searcher.h).
struct Refit {
  std::string model;
  std::uint64_t version = 0;  // of this model, from 1
  std::uint64_t observations = 0;
  std::vector<double> parameters;
  double at_s = 0;
};

// AlgorithmChosen: every trial of the study computes this shape by this algorithm from now on
// (trainer/reports/algorithm_choices.h).
struct AlgorithmChosen {
  std::string key;
  std::string algorithm;
  std::vector<std::pair<std::string, double>> seconds;  // the measured time of each algorithm
  double at_s = 0;
};

// Source: trials of an earlier study from which this one starts, copied when it was created.
struct Source {
  struct Trial {
    std::vector<std::pair<std::string, Value>> params;
    std::vector<double> values;  // one per objective of both studies
    double fidelity = 0;
    double work = 0;
  };
  std::string study;
  std::string config;  // its space file
  std::vector<Trial> trials;
  bool has_same_data = false;  // so that its values are of the same measure
};

// Accounted: the time spent, cumulative over the study; replaces the last one.
struct Accounted {
  double wall_s = 0;    // while a master ran
  double device_s = 0;  // held by live groups, idle included
};

// StudyState: the study's state changed.
struct StudyState {
  StudyPhase state = StudyPhase::kRunning;
  std::string budget;  // in force
  double at_s = 0;
  std::string backend = {};  // RUNNING: the backend from now on; empty from an older detol
  std::string config = {};   // in force from now on; empty: as before
};

// Interval: the 95 % confidence interval of a model's metric.
struct Interval {
  std::string metric;
  double low = 0, high = 0;
};

// Model: what is known of a network with weights that outlive the search: of a trial's own, once
// its test metrics were measured, and of models that were derived from a trial. No searcher is told
// of them. The last one of a number holds.
struct Model {
  std::int64_t model = 0;  // from 1, in each study
  TrialId trial = 0;       // its parent; of a tested trial, itself
  ModelKind kind = ModelKind::kTestedTrial;
  ModelState state = ModelState::kTraining;
  std::string failure = {};     // FAIL: a cause
  std::string reason = {};      // FAIL: why, in one line
  std::int64_t seed = 0;        // its 64 bits
  double epochs = 0;            // of its training, whole; of a tested trial, of the weights
  std::string trained_on = {};  // "train", "train+validation"
  std::string began_from = {};  // "scratch", "checkpoint"
  std::int64_t first = 0;       // the first model of those that one command made
  std::optional<std::int64_t> network_params = {};
  std::optional<std::int64_t> flops = {};
  std::vector<std::pair<std::string, double>> metrics = {};  // of validation and test
  std::vector<Interval> intervals = {};
  std::string dataset = {};  // the fingerprint of its data, 16 hexadecimal digits
  std::string folder = {};   // with its checkpoint, below the study's
  double at_s = 0;
  // Of what is derived further: the parent's number (0: the trial itself), what was asked for, as a
  // JSON object, and the network as export/architecture.h writes it (empty: the trial's own).
  std::int64_t parent = 0;
  std::string settings = {};
  std::string architecture = {};
};

}  // namespace event

using Event = std::variant<event::Asked, event::Started, event::Reported, event::Told,
                           event::Requeued, event::Refit, event::AlgorithmChosen, event::Accounted,
                           event::StudyState, event::Source, event::Model>;

// KnownTrial: a finished training of another study.
struct KnownTrial {
  std::string study;
  TrialId trial = 0;
  std::vector<event::Reported> reports;  // of the epochs that count, in order
  event::Told told;
};

// NewEvents: the events of a study after a known one.
struct NewEvents {
  std::vector<Event> events;  // see Ledger::events: the accounting comes last, if there is any
  std::int64_t last = 0;      // the number of the last event, for the next call
};

}  // namespace detol::inline knowledge
