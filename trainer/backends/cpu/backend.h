#pragma once

// The CPU backend: one thread, blocked layouts from end to end.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// The functions of the backend's row.
Result<std::unique_ptr<Executable>> compile_cpu(const Network& network, const Recipe& recipe,
                                                const Placement& placement);

// Returns the bytes that the executable and a group's sums would hold, without allocating them; any
// precision is planned as fp32.
Result<std::size_t> plan_bytes_cpu(const Network& network, const Recipe& recipe,
                                   const Placement& placement);

// NodeTime is the time of the steps of one node: forward, and backward with the conversions of its
// gradients. A node that is fused into another has none.
struct NodeTime {
  double forward_s = 0, backward_s = 0;
};

// Returns the CPU seconds of each node in each training step; `prepare` sets the state and writes
// the batch that all steps use. For measuring. Errors as compile_cpu's.
Result<std::vector<std::vector<NodeTime>>> time_cpu(
    const Network& network, const Recipe& recipe, int steps,
    const std::function<void(Executable&)>& prepare);

std::string onednn_version();  // "2.6.3"

// Returns the vector instructions that this processor's kernels use: "AVX-512" or "AVX2".
std::string cpu_vectors();

// Empties the cache of compiled primitives, as in a fresh process. For measuring.
void forget_compiled();

}  // namespace detol::inline trainer
