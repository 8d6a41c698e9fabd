#pragma once

// The onednn backend: CPU, one thread, blocked layouts from end to end.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backends/backend.h"

namespace detol {

// The backend's row.
Result<std::unique_ptr<Executable>> compile_onednn(const Network& network, const Recipe& recipe,
                                                   const Placement& placement);

// What its executable would hold, with what a group keeps between steps; any precision is planned
// as fp32. Allocates nothing of it.
Result<std::size_t> plan_bytes_onednn(const Network& network, const Recipe& recipe,
                                      const Placement& placement);

Result<std::vector<OpenChoice>> open_choices_onednn(const Network& network, const Recipe& recipe,
                                                    const Placement& placement);
Result<std::vector<TimedChoice>> time_choices_onednn(const Network& network, const Recipe& recipe,
                                                     const Placement& placement,
                                                     const std::function<void()>& turn);

// What the steps of one node take: forward, and backward with what its gradients need. A node that
// is fused into another has none.
struct NodeTime {
  double forward_s = 0, backward_s = 0;
};

// Of each training step, of each node, CPU seconds; `prepare` sets the state and writes the batch
// that all steps are made on. For measuring. Errors as compile_onednn's.
Result<std::vector<std::vector<NodeTime>>> time_onednn(
    const Network& network, const Recipe& recipe, int steps,
    const std::function<void(Executable&)>& prepare);

std::string onednn_version();  // "2.6.3"

// The vector instructions that this processor's kernels use: "AVX-512", "AVX2".
std::string onednn_vectors();

// Empties the cache of compiled primitives, as in a fresh process. For measuring.
void forget_compiled();

}  // namespace detol
