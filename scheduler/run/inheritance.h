#pragma once

// Weight inheritance in a search (search.inherit): which trial's weights a new trial begins with.

#include <filesystem>
#include <functional>
#include <optional>

#include "encodings/study/study_config.h"
#include "scheduler/study_state.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

// The trials of the highest numbers whose checkpoints are kept for those that follow.
inline constexpr std::size_t kKeptParents = 64;

using Inherits =
    std::function<std::optional<ParentWeights>(const Trial&, const Candidate&, const StudyState&)>;

// Returns Candidates::inherit; null if the study's trials inherit nothing. A call links the
// checkpoint of the chosen trial into the new trial's folder (kParentFolder), so that nothing that
// happens to that trial later changes what the new one begins with. With `nearest` the choice is,
// of the last kKeptParents ended trials, among those that give nearly the largest share of its
// numbers, the one with the best value. Takes milliseconds. The config outlives it.
Inherits make_inheritance(const StudyConfig& config, const Task& task,
                          std::filesystem::path folder);

// Returns SearcherSettings::preserves: whether the child's network can begin with its parent's
// function; null if the study's trials inherit nothing. The config outlives it.
decltype(SearcherSettings::preserves) make_preserves(const StudyConfig& config, const Task& task);

}  // namespace detol::inline scheduler
