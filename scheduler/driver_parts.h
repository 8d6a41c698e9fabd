#pragma once

// DriverParts: what a driver works with.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "encodings/study/study_config.h"
#include "encodings/study/target.h"
#include "knowledge/ledger.h"
#include "knowledge/requests.h"
#include "scheduler/budget.h"
#include "scheduler/observer.h"
#include "scheduler/pool.h"
#include "scheduler/proposals.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/refitter.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

// kCaller is the proposer of candidates that callers bring.
inline constexpr std::string_view kCaller = "caller";

using Decoded = tl::expected<Candidate, StudyConfig::Refused>;
using Decode = std::function<Decoded(const Genome&)>;

// Returns why a candidate is not trained, or nothing if it is trained.
using Refuse = std::function<std::optional<StudyConfig::Refused>(const Candidate&)>;

// Returns the bytes that a candidate's training needs; 0: unknown.
using ForeseenBytes = std::function<double(const Candidate&)>;

// Returns metrics by name.
using CostMetrics = std::function<std::vector<std::pair<std::string, double>>(const Candidate&)>;

// DriverParts holds what a driver works with; everything referred to outlives the driver.
struct DriverParts {
  const StudyConfig& config;
  Decode decode;
  Refuse refuse = nullptr;  // called before the first start of a trial; null: nothing is refused
  // A trial starts on a worker with so much memory; null: any will do.
  ForeseenBytes foreseen_bytes = nullptr;
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
  // Returns event::Asked::identity; null: candidates have none.
  std::function<std::string(const Candidate&)> identify = nullptr;
  // Returns the metrics of a candidate that follow from its network and that the study weighs, with
  // which its reports are completed; null: none.
  CostMetrics cost_metrics = nullptr;
  // Returns the work of one epoch of a candidate; null, or 0: it is unknown before the first
  // report.
  std::function<double(const Candidate&)> epoch_work = nullptr;
  // Returns what is to be stored of a candidate's network with its Asked; nullopt if it is stored
  // already; null: nothing is stored.
  std::function<std::optional<Fact>(const Candidate&)> network_fact = nullptr;
  // Returns a trial of another study that was trained in the same way, whose outcome the trial
  // takes; null: every study trains its own.
  std::function<Result<std::optional<KnownTrial>>(const event::Asked& asked,
                                                  const Candidate& candidate)>
      recall = nullptr;
  // Chooses the trial whose weights a candidate begins with, and keeps these weights for it;
  // nullopt: it begins with its own; null: all do. Called right before the candidate is recorded.
  std::function<std::optional<ParentWeights>(const Trial& trial, const Candidate& candidate,
                                             const StudyState& state)>
      inherit = nullptr;
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
