#pragma once

// RunRequest: what people ask of the process that runs a study, which alone writes its events. A
// request is a file in the study's folder of artefacts; whoever runs the study looks for them every
// second, and removes one once what follows from it is durable. Until then it outlives any kill.
//
//   stop-requested, prune-requested-7, retry-requested-7, budget-requested (the new total)

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"

namespace detol::inline knowledge {

struct RunRequest {
  enum Kind {
    kStop,    // suspend the search
    kPrune,   // end a trial that is trained, and keep what it has reported
    kRetry,   // train a trial that failed again
    kBudget,  // end the search later
  } kind = kStop;
  TrialId trial = 0;        // of kPrune and kRetry
  std::string budget = {};  // of kBudget: the new total, so that a repeat changes nothing

  bool operator==(const RunRequest&) const = default;
};

// Writes the request durably into the study's folder and returns its file. Errors: kUsage if a
// change of the budget waits there already; kStorage.
Result<std::filesystem::path> make_request(const std::filesystem::path& folder,
                                           const RunRequest& request);

// Returns the requests in the study's folder: in the order of their kinds and trials.
std::vector<RunRequest> requests_in(const std::filesystem::path& folder);

// Removes the request, if it exists.
void remove_request(const std::filesystem::path& folder, const RunRequest& request);

bool is_request(const std::filesystem::path& file);

}  // namespace detol::inline knowledge
