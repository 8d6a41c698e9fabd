#include "scheduler/equal_trials.h"

#include "scheduler/driver_parts.h"

namespace detol::inline scheduler {
namespace {

constexpr int kMostEqualInRow = 32;  // proposals until the searcher is told more

}  // namespace

bool EqualTrials::may_repeat(const std::string& identity) const {
  return config_.repeats > 0 && state_.measurements(identity) <= config_.repeats;
}

bool EqualTrials::waits_for_equal(TrialId trial) const {
  const TrialRecord& entry = *state_.find(trial);
  if (entry.attempt > 0 || entry.trial.proposer == kCaller) return false;
  const TrialRecord* first = state_.first_open(entry.identity);
  return first != nullptr && first->trial.id < trial && !may_repeat(entry.identity);
}

bool EqualTrials::is_space_known() const {
  return config_.repeats == 0 && static_cast<double>(state_.known()) >= candidates_;
}

bool EqualTrials::is_nothing_new() const {
  return equal_in_row_ >= kMostEqualInRow || is_space_known();
}

}  // namespace detol::inline scheduler
