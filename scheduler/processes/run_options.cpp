#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config) {
  return make_searcher(
      config.algorithm.name, config.space,
      {.seed = config.seed, .objectives = config.objectives, .options = config.algorithm.options});
}

}  // namespace detol::inline scheduler
