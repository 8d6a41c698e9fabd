#pragma once

// The machine that the program runs on. Thread-safe.

#include <string>

namespace detol::inline core {

// Returns the machine's name in the network; "unknown" if it has none.
std::string host_name();

// Returns the model of the processor; empty if the system does not say.
std::string processor_name();

}  // namespace detol::inline core
