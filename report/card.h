#pragma once

// What several panels say of the whole study. Private to this room.

#include "report/trials.h"
#include "scheduler/budget.h"

namespace detol::inline report {

// Returns what the study has used; the times are those of its last accounting.
Spent spent_by(const ReportSource& source, const std::vector<ShownTrial>& trials);

}  // namespace detol::inline report
