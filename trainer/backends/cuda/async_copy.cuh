#pragma once

// Copies of 16 bytes from global into shared memory that a thread starts and waits for later, so
// that a block computes meanwhile (PTX ISA, "cp.async"). A thread sees its own copies after it has
// waited for them, and those of the block's other threads after a barrier behind that.
//
// The emulated device has a header of the same path and the same declarations.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

// Starts a copy of a pack of bfloat16. If not `is_there`, the destination gets zeros, and nothing
// is read.
__device__ inline void start_copy(Bfloat16* shared, const Bfloat16* from, bool is_there) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
               : "memory");
}

// Ends a group: the copies that this thread has started since the last one.
__device__ inline void end_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for all of this thread's groups but the last kPending.
template <int kPending>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace detol::inline trainer::cuda
