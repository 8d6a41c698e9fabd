#pragma once

// Group size: how many ranks train a trial together where the user does not say (`auto`). A search
// that is to be a function of its seed (training.deterministic) has groups of one; else the size
// follows from the measured times of the study's epochs and from what is left of its budget.

#include <limits>
#include <span>
#include <vector>

#include "knowledge/query.h"
#include "scheduler/processes/run_options.h"
#include "surrogate/group_scaling.h"

namespace detol::inline scheduler {

// What groups have done, and what is left to do.
struct GroupTimes {
  std::vector<MeasuredTime> times;  // of each trial, by ranks; none where the work is unknown
  double epoch_work = 0;            // median over trials; 0: unknown
  int last_ranks = 1;               // of the attempt that started last
};

GroupTimes group_times_of(std::span<const Event> events);

// What is left of a search, for the choice of its group size.
struct RemainingSearch {
  int devices = 1;
  int widest = std::numeric_limits<int>::max();  // devices of one machine
  int workers = 0;                               // groups; 0: as many as the devices have room for
  double trials = std::numeric_limits<double>::infinity();
  double wall_s = std::numeric_limits<double>::infinity();
  double epoch_work = 0;  // 0: unknown
  int epochs = 1;         // of a trial of full length
};

// Returns the size of groups with which the search gets furthest. One rank wastes nothing, so that
// most candidates are trained in groups of one; wider groups pay where fewer trials than devices
// are left, where `workers` leaves devices idle, and where a trial of full length would take more
// than a third of the time that is left, since a search learns from trials that have ended. A size
// that uses less than half of its ranks' time is never chosen, nor one that is more than twice the
// largest that was measured.
int best_group_size(const GroupScaling& scaling, const RemainingSearch& left);

// Returns what is left of a study on so many devices, within these limits. Errors: those of
// replaying the events.
Result<RemainingSearch> remaining_search(const StudyConfig& config, std::span<const Event> events,
                                         const Budget& limits, int devices);

// Returns the options with the group size of the run, if it is to be chosen here. What the choice
// cannot read, a run that follows reports.
RunOptions with_group_size(RunOptions options);

}  // namespace detol::inline scheduler
