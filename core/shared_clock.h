#pragma once

// SharedClock: the seconds that system_clock() leaves out, in this process or in all that share
// them, because they stood still (suspension.h).

#include <filesystem>

namespace detol::inline core {

// Makes now_s() of system_clock() leave out what was left out in any process that has called this
// with the same file, which is made if it is not there. Returns whether that worked. REQUIRES: this
// process has one thread.
bool share_clock(const std::filesystem::path& file);

// Makes now_s() leave out these seconds, for which all that share the clock stood still.
void leave_out(double seconds);

// Returns the seconds that are left out.
double left_out();

}  // namespace detol::inline core
