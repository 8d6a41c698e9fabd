#pragma once

// The machine that the program runs on. Thread-safe.

#include <cstdint>
#include <string>

namespace detol::inline core {

// Returns the machine's name in the network; "unknown" if it has none.
std::string host_name();

// Returns the model of the processor; empty if the system does not say.
std::string processor_name();

// Returns the bytes of the machine's memory, and how many of them no process uses.
std::int64_t memory_bytes();
std::int64_t free_memory_bytes();

}  // namespace detol::inline core
