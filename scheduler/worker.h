#pragma once

// Worker: a process that trains one trial after the other for a master. Its main thread
// trains; MasterLink speaks.

#include <string>

#include "core/result.h"
#include "scheduler/study_run.h"

namespace detol {

// Never returns without an error: a worker is ended from outside. Errors: what keeps it from
// becoming ready (unreadable data, no endpoint).
Result<void> run_worker(const std::string& endpoint, int number, const Seams& seams);

}  // namespace detol
