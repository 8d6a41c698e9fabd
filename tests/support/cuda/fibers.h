#pragma once

// Fibers: the threads of a kernel's block, all on one thread of the host. A thread runs until it
// ends or waits for others; whoever waits keeps its own stack. A kernel that never waits runs on
// one stack without a switch. One block per thread of the host at a time; other threads have their
// own.

#include <cstdint>

namespace detol::emulated {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  unsigned all() const { return x * y * z; }
};

constexpr unsigned kWarp = 32;

// What a block's threads run: body(context), once per thread, from the first to the last or the
// other way round; threadIdx tells which.
struct BlockRun {
  Extent extent;
  void (*body)(void*) = nullptr;
  void* context = nullptr;
  bool is_reversed = false;
};

// Returns nullptr, or what went wrong: threads that wait for one that never comes.
const char* run_block(const BlockRun& block);

// What a kernel's threads call.
void wait_for_block();
// The value that lane `source` of the warp gave; all lanes of `mask` make the same call.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source);
// The lanes of `mask` whose value is not zero.
unsigned ballot(unsigned mask, bool value);
// Of the calling thread in its warp.
unsigned lane();

}  // namespace detol::emulated
