#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config, SearcherInputs inputs) {
  return make_searcher(config.algorithm.name, config.space,
                       {.seed = config.seed,
                        .objectives = config.objectives,
                        .options = config.algorithm.options,
                        .sources = std::move(inputs.sources),
                        .preserves = std::move(inputs.preserves)});
}

}  // namespace detol::inline scheduler
