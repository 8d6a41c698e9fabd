#pragma once

// Fibers: the threads of a kernel's block, all on one thread of the host. A thread runs until it
// ends or waits for others; a waiting thread keeps its stack. A kernel that never waits runs on
// one stack without a switch. One block per thread of the host at a time; other threads have their
// own.

#include <cstdint>

namespace detol::emulated {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  unsigned all() const { return x * y * z; }
};

constexpr unsigned kWarp = 32;

// BlockRun: body(context) runs once per thread of a block, from the first to the last or reversed;
// threadIdx is that of the thread.
struct BlockRun {
  Extent extent;
  void (*body)(void*) = nullptr;
  void* context = nullptr;
  bool is_reversed = false;
};

// Returns nullptr, or what went wrong, such as threads that wait for one that never comes.
const char* run_block(const BlockRun& block);

// The functions below are called by a kernel's threads.
void wait_for_block();
// Returns the `value` of lane `source` of the warp; all lanes of `mask` make the same call.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source);
// Returns the lanes of `mask` whose value is true.
unsigned ballot(unsigned mask, bool value);
// Returns the lane of the calling thread in its warp.
unsigned lane();

}  // namespace detol::emulated
