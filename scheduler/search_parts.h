#pragma once

// SearchParts: the parts of a driver that follow from a study's config, beside its searcher, which
// may begin with what other studies found, and may be measured. A master, a service for callers, a
// simulation and a measurement of throughput all begin here.

#include <memory>
#include <vector>

#include "encodings/study/study_config.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

struct SearchParts {
  std::unique_ptr<Pruner> pruner;
  std::unique_ptr<Searcher> fallback;  // proposes where the study's own searcher is late
  std::vector<Genome> initial;         // proposed first
};

// Errors: as of make_pruner, make_searcher and initial_genomes.
Result<SearchParts> assemble_search(const StudyConfig& config);

}  // namespace detol::inline scheduler
