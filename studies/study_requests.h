#pragma once

// What a person asks of the process that runs a study (knowledge/requests.h), from a terminal or
// the dashboard.

#include <filesystem>
#include <string>

#include "knowledge/requests.h"
#include "studies/trial_summary.h"

namespace detol::inline studies {

// Asks whoever runs the study, and returns the request's file. `budget` of the request is what is
// added to the total: "+1cpu-h", which make_request() gets as the new total. Errors: kUsage if
// nobody runs the study, it is run by the callers of `detol ask`, or the trial or the budget
// cannot change so; kEmpty for an unknown trial; kStorage.
Result<std::filesystem::path> ask_runner(const std::string& storage, const OpenStudy& study,
                                         RunRequest request);

// Asks, and waits up to half a minute until it is answered. Returns whether it was; a request that
// was not still stands, and the log says so. Errors: as above, and kUsage if the run ended first.
Result<bool> ask_runner_and_wait(const std::string& storage, const OpenStudy& study,
                                 const RunRequest& request);

// Asks whoever runs the study to stop, waits up to half a minute for it, and logs what came of it.
// A study that nobody runs is left alone. Errors: kStudy, kStorage.
Result<void> stop_study(const std::string& storage, const std::string& name);

}  // namespace detol::inline studies
