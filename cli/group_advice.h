#pragma once

// Group advice: what `status` says of worker groups: how well those of several ranks used their
// time, and which size suits what is left of the study's budget.

#include <span>

#include "knowledge/query.h"

namespace detol::inline cli {

struct GroupAdvice {
  Cell sizes = {};    // "1 2": those that trained
  Cell strong = {};   // "2: 93 %": efficiency of each size beyond one, with the same batch
  Cell weak = {};     // likewise, with the same batch for each rank
  Cell advised = {};  // the size that suits the rest of the budget on the last run's devices
};

// Returns empty cells where nothing was measured. Errors (kStorage): a damaged fact or event.
Result<GroupAdvice> group_advice(Reader& reader, const StudyRecord& study,
                                 std::span<const Event> events);

}  // namespace detol::inline cli
