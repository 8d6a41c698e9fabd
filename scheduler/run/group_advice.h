#pragma once

// Group advice: what `status` says of worker groups: how well those of several ranks used their
// time, and which size suits what is left of the study's budget. Both are said only where the study
// trained with two sizes or more: one size says nothing of others.

#include <span>

#include "knowledge/query.h"

namespace detol::inline scheduler {

struct GroupAdvice {
  Cell sizes = {};  // "1 2": those that trained
  // "2: 93 % (88 to 97 %, n = 6)" of each size beyond one: the efficiency with the same batch, its
  // interval of 95 %, and the trials that it is from.
  Cell strong = {};
  Cell weak = {};     // likewise, with the same batch for each rank
  Cell advised = {};  // the size that suits the rest of the budget on the last run's devices
};

// Returns empty cells where nothing was measured. Errors (kStorage): a damaged fact or event.
Result<GroupAdvice> group_advice(Reader& reader, const StudyRecord& study,
                                 std::span<const Event> events);

}  // namespace detol::inline scheduler
