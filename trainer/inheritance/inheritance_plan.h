#pragma once

// InheritancePlan: how a network takes its initial weights from a trained one, so that it computes
// the same function where their difference allows that (network morphisms: Chen et al., 2016,
// "Net2Net", ICLR, arXiv 1511.05641; Wei et al., 2016, "Network Morphism", ICML, arXiv 1603.01670;
// Elsken et al., 2018, "Simple and Efficient Architecture Search for CNNs", arXiv 1711.04528).
// A plan knows the layers alone; inherited_weights.h has the numbers. Pure; thread-safe.

#include <vector>

#include "encodings/network/network.h"

namespace detol::inline trainer {

// ChannelMap gives, for every channel of a tensor of the child, the channel of the parent's tensor
// that it equals; kNewChannel: the parent has none.
using ChannelMap = std::vector<std::int64_t>;
inline constexpr std::int64_t kNewChannel = -1;

// NodeStart is how the parameters of one node of the child begin.
struct NodeStart {
  enum class Kind {
    kUsual,     // as initial_weights()
    kCopied,    // from the node `parent`
    kIdentity,  // conv, dense: each output channel is an input; batch_norm: undoes itself
    kZero,      // the output is zero: gamma, or weight and bias
  } kind = Kind::kUsual;
  NodeId parent = 0;           // kCopied
  ChannelMap inputs, outputs;  // kCopied: of conv and dense both, else `outputs` alone
  bool is_doubled = false;     // the output of this batch_norm is doubled
};

struct InheritancePlan {
  std::vector<NodeStart> nodes;  // one per node of the child
  bool preserves = false;        // the child's outputs are the parent's, at inference
};

// Nodes are matched by their names, which the encodings make of the place of a layer, and by what
// they compute. Takes time in proportion to the nodes and their channels.
InheritancePlan plan_inheritance(const Network& parent, const Network& child);

}  // namespace detol::inline trainer
