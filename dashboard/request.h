#pragma once

// What requests to the dashboard ask for. Pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/result.h"
#include "report/live_trials.h"

namespace detol::inline dashboard {

// Returns the page of trials that the parameters of a URL ask for: sort, down, words, page. What is
// missing or no number has its default.
TrialQuery trial_query_of(const std::multimap<std::string, std::string>& parameters);

// Action: what a person asks the dashboard to do.
struct Action {
  enum Kind { kNote, kStop, kPrune, kRetry, kBudget } kind = kNote;
  std::string study;
  std::optional<std::uint64_t> trial;  // of kPrune, kRetry and kNote; nullopt: the study
  std::string note;
  std::string more;  // of kBudget: what is added, "+1cpu-h"
};

// Reads a body: {"action": "note"|"stop"|"prune"|"retry"|"budget", "study": "...", "trial": 3,
// "note": "...", "more": "1cpu-h"}. Errors (kInput): it is none, or lacks what its action needs.
Result<Action> action_of(const std::string& body);

}  // namespace detol::inline dashboard
