#pragma once

// DriverParts: what a driver works with.

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "encodings/study/study_config.h"
#include "encodings/study/target.h"
#include "knowledge/ledger.h"
#include "knowledge/requests.h"
#include "scheduler/budget.h"
#include "scheduler/candidates.h"
#include "scheduler/observer.h"
#include "scheduler/pool.h"
#include "scheduler/proposals.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/refitter.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

// DriverParts holds what a driver works with; everything referred to outlives the driver.
struct DriverParts {
  const StudyConfig& config;
  Candidates& candidates;
  Ledger& ledger;
  StudyId study = 0;
  Searcher& searcher;
  Pruner& pruner;
  Pool& pool;
  Clock& clock;
  std::vector<Observer*> observers = {};
  Budget budget = {};
  std::optional<Target> target = {};
  std::filesystem::path folder = {};  // of the study's artefacts
  std::vector<Genome> initial = {};   // proposed first, as trials 0, 1, ...
  // Where the searcher's models are fitted, and where it is asked. With kBeside the asks of a
  // single worker wait for both, so that its search depends on the study alone; several never wait.
  Refits refits = Refits::kAtOnce;
  AskSettings asks = {};
  bool retry_failed = false;
  std::optional<double> counted_until_s = {};  // wall time before this is in the ledger; empty: now
  // Returns what people ask of this run. Called once a second.
  std::function<std::vector<RunRequest>()> requests = [] { return std::vector<RunRequest>(); };
  // Called when what follows from a request is durable, or nothing will; not for a stop.
  std::function<void(const RunRequest&)> answered = [](const RunRequest&) {};
};

}  // namespace detol::inline scheduler
