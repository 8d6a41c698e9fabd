#pragma once

// Structured pruning: removes the channels that matter least from a trained network until it costs
// what is asked for. What is left of the weights stays as it is; the caller trains on from there.

#include <functional>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "trainer/backends/weights.h"
#include "trainer/pruning/channels.h"

namespace detol::inline trainer {

struct PruningTarget {
  // Returns what a network costs, in any unit. A measured cost may be noisy.
  std::function<Result<double>(const Network& network)> cost;
  double limit = 0;  // what it may cost at most
  // Channels of a layer that was a multiple of it stay one: kernels compute whole registers.
  int multiple = 1;
};

// Removes classes of channels in the order of their importance, but at most nine tenths of a layer
// group, until the cost is within the limit: the fewest that a bisection finds. Errors: kEmpty,
// with the least cost, if that is not enough; those of target.cost.
Result<std::vector<bool>> channels_to_remove(const Network& network, const ChannelClasses& classes,
                                             const std::vector<double>& importance,
                                             const PruningTarget& target);

}  // namespace detol::inline trainer
