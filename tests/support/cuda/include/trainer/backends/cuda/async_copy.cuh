#pragma once

// The product's header of this path, for a host compiler. Copies are done as late as they may be:
// when they are waited for. A kernel that forgets to wait reads what was there before.

#include <array>
#include <cassert>
#include <deque>
#include <vector>

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

namespace async_copy {

struct Copy {
  Bfloat16* to;
  const Bfloat16* from;  // null: zeros
};

struct Copies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;  // not done yet
};

// All threads of a block run on one thread of the host.
inline Copies& copies_of_this_thread() {
  static thread_local std::array<Copies, kThreads> copies;
  assert(threadIdx.x < kThreads);
  return copies[threadIdx.x];
}

}  // namespace async_copy

inline void start_copy(Bfloat16* shared, const Bfloat16* from, bool is_there) {
  assert(reinterpret_cast<std::uintptr_t>(shared) % 16 == 0);
  async_copy::copies_of_this_thread().open.push_back({shared, is_there ? from : nullptr});
}

inline void end_copy_group() {
  async_copy::Copies& copies = async_copy::copies_of_this_thread();
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}

template <int kPending>
void wait_for_copies() {
  std::deque<std::vector<async_copy::Copy>>& groups = async_copy::copies_of_this_thread().groups;
  for (; groups.size() > kPending; groups.pop_front()) {
    for (const async_copy::Copy& copy : groups.front())
      *reinterpret_cast<Pack<Bfloat16>*>(copy.to) =
          copy.from == nullptr ? Pack<Bfloat16>{} : pack_at(copy.from);
  }
}

}  // namespace detol::inline trainer::cuda
