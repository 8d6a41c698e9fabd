#pragma once

// Latency: the measured time of one forward pass of a network, which depends on the device and on
// what else runs there.

#include <functional>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/network/task.h"
#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// Returns the seconds of one forward pass of `batch` images: the median of passes for about a
// quarter of a second (10 to 1,000 of them), after two that do not count. Weights are those that a
// training of seed 0 begins with; the images are zeros. The time includes the copy of the images to
// a device and of the logits back. Calls `on_pass` after each pass. Compiles the network, and so
// REQUIRES that no other executable lives in this process. Errors as BackendRow::compile's; throws
// std::bad_alloc.
Result<double> latency_s(const Network& network, const BackendRow& backend, TaskKind task,
                         int batch, const std::function<void()>& on_pass);

// Returns the shortest of such passes: what the network takes where nothing else runs at that
// instant, for comparisons on a busy machine. Otherwise as above.
Result<double> shortest_latency_s(const Network& network, const BackendRow& backend, TaskKind task,
                                  int batch, const std::function<void()>& on_pass);

}  // namespace detol::inline trainer
