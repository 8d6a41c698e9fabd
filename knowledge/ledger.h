#pragma once

// Ledger: a writer of the knowledge base (SQLite, WAL, synchronous=FULL). Events that
// append() returned success for survive any kill; writing an event twice changes nothing:
//
//   Asked                       the first of a trial is kept
//   Reported                    the first of a (trial, attempt, step) is kept
//   Refit                       the first of a (model, version) is kept
//   AlgorithmChosen             the first of a key is kept
//   Source                      the first of a study is kept
//   Model                       an exact copy of an earlier one changes nothing
//   Started, Requeued, Told     an exact copy of an earlier one changes nothing
//   StudyState                  an exact copy of the last one changes nothing
//   Accounted                   the last one is kept; events() returns it last
//
// Started, Reported and Requeued of an attempt older than the trial's newest Started are
// dropped silently: their sender was replaced.
//
// Many processes may write one database, each its own studies: a study is locked by at most one
// live process, and the lock names it (knowledge/storage/writer.h). On a network file system one
// process writes the whole database. A process has at most one ledger of a database. Not
// thread-safe.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "knowledge/facts.h"
#include "knowledge/states.h"

namespace detol::inline knowledge {

using StudyId = std::int64_t;

struct StudyRecord {
  StudyId id = 0;  // given by create_study
  std::string name;
  std::string config;  // StudyConfig::text in force; a resume may widen its space
  std::string budget;  // in force; a resume may extend it
  std::uint64_t data_fingerprint = 0;
  std::vector<Objective> objectives;
  double created_s = 0;  // seconds since 1970
  StudyPhase state = StudyPhase::kRunning;
  std::string begun_with = {};  // the text at its creation; empty: `config`

  const std::string& first_config() const { return begun_with.empty() ? config : begun_with; }
};

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

class Ledger {
 public:
  // Creates or opens the database, beside the writers of other studies; the folder must exist.
  // Waits up to ten seconds for a process that changes the whole database. Errors (kStorage):
  // unwritable, corrupt, newer schema, or locked as a whole by a living process, naming its host,
  // pid and since when; a file that was there is left as it was.
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& path);
  virtual ~Ledger() = default;

  // Creates a study, and locks it until this ledger is closed. Errors: kStudy if the name exists,
  // kUsage if a new study may not have it, kStorage.
  virtual Result<StudyId> create_study(const StudyRecord& record) = 0;

  // Locks the study of that name until this ledger is closed, and returns it: nobody else changes
  // it from now on. Errors: kStudy if there is none, with a did-you-mean; kStorage if a live
  // process runs it, naming host, pid and since when, with EWOULDBLOCK as system_error.
  virtual Result<StudyRecord> open_study(const std::string& name) = 0;

  // Appends the events, and the facts that are new, in one transaction, which is durable when it
  // returns. After an error none of them is kept. Locks the study, unless it is locked. Processes
  // that append at the same time do so in turn.
  // Errors (kStorage): the disk refused a write, or a process that is stopped holds up the others
  // (may_retry()); another failure of the disk; another process runs the study or took it over.
  // REQUIRES: within an event, names of params or metrics differ.
  virtual Result<void> append(StudyId study, std::span<const Event> events,
                              std::span<const Fact> facts = {}) = 0;

  // Adds the facts that are new in one transaction. Errors: as append, but of no study.
  virtual Result<void> record_facts(std::span<const Fact> facts) = 0;

  // Returns true if the last call failed on a full or read-only disk, or as it was not its turn to
  // commit for ten seconds: the same call may succeed later. After any other failed append the
  // process must end, and the study be resumed.
  virtual bool may_retry() const = 0;

  // Returns the study of that name, which another process may change meanwhile. Errors (kStudy):
  // there is none, with a did-you-mean.
  virtual Result<StudyRecord> study(const std::string& name) = 0;

  // Returns the oldest trial of another study with this event::Asked::identity that was trained to
  // its full length, or diverged, by groups of `ranks`, where that is given; nullopt if there is
  // none. Errors (kStorage).
  virtual Result<std::optional<KnownTrial>> known_trial(const std::string& identity, StudyId except,
                                                        std::optional<int> ranks) = 0;

  // Returns every study in the order of creation. Errors (kStorage).
  virtual Result<std::vector<StudyRecord>> studies() = 0;

  // Returns the measured trials of a study with their last outcomes, in the order of asking, but
  // for those that took the outcome of another. Reads no curve. Errors (kStorage).
  virtual Result<std::vector<event::Source::Trial>> outcomes(StudyId study) = 0;

  // Returns the facts of a kind in the order of their keys, or the fact of a kind and key, if there
  // is one. Errors (kStorage): one is damaged.
  virtual Result<std::vector<Fact>> facts(const std::string& kind) = 0;
  virtual Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) = 0;

  // Returns every event of a study in the order of appending, without repeats, after verifying
  // each row's checksum. Errors (kStorage): a damaged row, naming it.
  virtual Result<std::vector<Event>> events(StudyId study) = 0;
};

}  // namespace detol::inline knowledge
