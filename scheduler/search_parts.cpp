#include "scheduler/search_parts.h"

#include "scheduler/proposals.h"

namespace detol::inline scheduler {

Result<SearchParts> assemble_search(const StudyConfig& config) {
  SearchParts parts;
  DETOL_ASSIGN(parts.pruner, make_pruner(config.pruner.name, pruner_settings_of(config)));
  DETOL_ASSIGN(parts.initial, initial_genomes(config));
  DETOL_ASSIGN(parts.fallback, make_fallback(config.space, config.objectives, config.seed));
  return parts;
}

}  // namespace detol::inline scheduler
