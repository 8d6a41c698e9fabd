#pragma once

// Why a trial was proposed. A searcher is a function of its events, so nothing more than these is
// stored: the searcher is rebuilt as it was when it proposed the trial, and asked.

#include <optional>
#include <span>
#include <string>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

struct WhyProposed {
  std::string proposer;  // a searcher, or one of its arms: "gp region"
  int told = 0;          // outcomes that the searcher knew
  int pending = 0;       // other trials that were being measured, as far as it knew
  std::optional<Explanation> explanation = {};  // nullopt: the study's algorithm has no model
};

// Replays the events up to the proposal: tells in microseconds, and one fit's processes, a second
// or two for thousands of trials. Errors: kEmpty if the study has no such trial; kStorage if the
// events do not fit the study; as make_searcher().
Result<WhyProposed> why_proposed(const StudyConfig& config, std::span<const Event> events,
                                 TrialId trial);

}  // namespace detol::inline scheduler
