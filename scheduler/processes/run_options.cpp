#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config,
                                              std::vector<Source> sources) {
  return make_searcher(config.algorithm.name, config.space,
                       {.seed = config.seed,
                        .objectives = config.objectives,
                        .options = config.algorithm.options,
                        .sources = std::move(sources)});
}

}  // namespace detol::inline scheduler
