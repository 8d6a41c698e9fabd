#pragma once

// Warm start: what a new study takes from earlier ones of its knowledge base. The trials are chosen
// once, when the study is created, and become events of its own, so that it is resumed with the
// same ones whatever happens to the others.

#include <span>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

// Returns the trials of the studies that `config.warm_start` names, or of at most five that fit
// best: with the same objectives and choices of the same names; of these first those on the same
// data, with the most common choices, on the most similar data, the latest. Of each at most 500
// trials: the best half, the others spread over all ranks. Errors: kStudy if a named study does not
// exist, kStorage.
Result<std::vector<event::Source>> choose_sources(Ledger& ledger, const StudyRecord& study,
                                                  const StudyConfig& config);

// Returns the sources among a study's events for its searcher. Errors (kStorage): they do not fit
// their own space.
Result<std::vector<Source>> sources_of(std::span<const Event> events);

}  // namespace detol::inline scheduler
