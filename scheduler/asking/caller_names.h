#pragma once

// The names of callers, which the ledger keeps as the workers of their trials: "ask host/1234" is a
// process of a machine, "ask" the command line. Thread-safe.

#include <string>
#include <string_view>

namespace detol::inline scheduler {

// The caller whose trials wait for their values, however long that takes.
inline constexpr std::string_view kNoCaller = "ask";

// Returns the name of this process.
std::string this_caller();

// Returns whether a worker's name is a caller's.
bool is_caller(std::string_view worker);

// Returns whether the caller's process may still be there; processes of other machines may.
bool may_live(std::string_view caller);

}  // namespace detol::inline scheduler
