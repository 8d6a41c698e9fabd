#include "scheduler/simulation/measured_searcher.h"

#include "core/clock.h"

namespace detol::inline scheduler {

std::vector<Trial> MeasuredSearcher::ask(TrialId first_id, int count) {
  const double began_s = thread_seconds();
  std::vector<Trial> trials = searcher_.ask(first_id, count);
  real_s_ += thread_seconds() - began_s;
  proposals_ += static_cast<std::int64_t>(trials.size());
  return trials;
}

}  // namespace detol::inline scheduler
