#pragma once

// Simulation: a study by the real driver, searcher and pruner in virtual time, against simulated
// workers. It is a function of its settings: the same settings give the same events, byte for byte,
// on any machine; only the figures called real_* and peak_bytes are measured.
//
// Left out: earlier studies (warm starts, known trials), the memory of a worker, groups that take
// long to start, and what a report costs the master in virtual time.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/budget.h"
#include "scheduler/simulation/ask_times.h"
#include "scheduler/simulation/pace.h"
#include "scheduler/simulation/recorded_curves.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

struct SimulationSettings {
  StudyConfig config;
  DatasetInfo data = {};  // of a study that trains
  int workers = 1;
  int group_size = 1;
  Budget budget = {};
  PaceSettings pace = {};
  std::optional<RecordedCurves> curves = {};  // of an earlier study; else the model of the config
  double losses_per_device_h = 0;             // of workers
  double restart_s = 30;                      // until another takes the place of a lost one
  std::optional<AskTimes> ask_times = {};     // else those of the config's searcher
  double commit_s = 1e-3;                     // what a transaction costs the master
  std::filesystem::path ledger = {};          // a database for the study; empty: nothing is kept
};

// Improvement: the best value changed.
struct Improvement {
  double device_s = 0;
  double wall_s = 0;
  std::uint64_t trial = 0;
  double value = 0;  // of the first objective
};

inline constexpr int kFreshBehind = 64;  // outcomes told since a proposal was made

struct SimulationReport {
  std::string ended;        // why: a sentence
  bool has_failed = false;  // too many trials, or all of them: a search would end with kFailures
  double wall_s = 0;        // virtual
  double device_s = 0;
  double busy_s = 0;  // device seconds of training
  double work = 0;
  int asked = 0, trained = 0, finished = 0, pruned = 0, failed = 0, waiting = 0;
  std::int64_t losses = 0;  // of workers in training
  std::vector<Improvement> improvements;
  std::int64_t messages = 0, commits = 0, events = 0, proposals = 0;
  std::int64_t fallbacks = 0;  // proposals of another searcher, as the study's was late
  std::int64_t fresh = 0;      // proposals of the study's, at most kFreshBehind outcomes behind
  double real_s = 0;           // processor seconds of all
  double real_master_s = 0;    // those of the driver, searcher, pruner and ledger
  double real_asking_s = 0;    // those of its proposals
  double real_decision_p50_s = 0, real_decision_p99_s = 0;  // seconds from a report to its answer
  std::int64_t peak_bytes = 0;                              // of this process

  double utilization() const { return device_s > 0 ? busy_s / device_s : 0; }
};

// Errors: kInput where no budget ends it, or the curves do not fit; those of Ledger::open and
// create_study.
Result<SimulationReport> simulate(const SimulationSettings& given);

}  // namespace detol::inline scheduler
