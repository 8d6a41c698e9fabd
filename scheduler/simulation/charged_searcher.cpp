#include "scheduler/simulation/charged_searcher.h"

namespace detol::inline scheduler {

std::vector<Trial> ChargedSearcher::ask(TrialId first_id, int count) {
  const double began_s = system_clock().now_s();
  std::vector<Trial> trials = searcher_.ask(first_id, count);
  real_s_ += system_clock().now_s() - began_s;
  const double seconds =
      times_.seconds(static_cast<double>(told_)) * static_cast<double>(trials.size());
  proposals_ += static_cast<std::int64_t>(trials.size());
  charged_s_ += seconds;
  clock_.now += seconds;
  return trials;
}

}  // namespace detol::inline scheduler
