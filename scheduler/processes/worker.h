#pragma once

// Worker: a group of processes, its ranks, that train one trial after the other for a master. Rank
// 0 leads: only it talks to the master (MasterLink, in a thread of its own), and it broadcasts
// every Train; all ranks then make the same calls of the trainer. A worker of one rank is a plain
// process without MPI.

#include <optional>

#include "core/result.h"
#include "scheduler/processes/master_link.h"
#include "scheduler/processes/run_options.h"
#include "trainer/collectives/group.h"

namespace detol::inline scheduler {

// Trains until the master shuts the worker down. Only rank 0 uses `master`; if that is empty, the
// group ends at once. Errors: what keeps it from becoming ready (unreadable data, no endpoint), and
// an exception of the trainer, after which this process is not reliable. In a group also a lack of
// memory, because its ranks may be out of step.
Result<void> run_worker(const std::optional<MasterAddress>& master, Group& group,
                        const TestHooks& hooks);

}  // namespace detol::inline scheduler
