#pragma once

// The channels of a network that can only be removed together (Fang et al., 2023, DepGraph, arXiv
// 2301.12900). A sum of two layers ties their channels one to one, a concatenation keeps those of
// its inputs apart, a depthwise convolution hands each channel on, and a grouped one loses the same
// channel of every group. Channels so tied form a class; all of a class are removed, or none.
//
//   x = conv(input); y = add(x, conv(x))    the channels c of both convolutions are one class
//
// Pure functions.

#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "trainer/backends/weights.h"

namespace detol::inline trainer {

struct ChannelClasses {
  // For each node, the class of each channel of its output.
  std::vector<std::vector<int>> of_outputs;
  // For each class, whether it has a channel of the network's input or output, and so must stay.
  std::vector<bool> is_fixed;
  // For each class, its layer group: classes with the same group are made by the same convolutions
  // and dense layers. Numbered from 0.
  std::vector<int> layer_group;

  int count() const { return static_cast<int>(is_fixed.size()); }
};

ChannelClasses channel_classes(const Network& network);

// Returns the classes of the elements that a layer with weights reads: its input's channels; of a
// dense layer each of them height x width times.
std::vector<int> classes_read_by(const Network& network, const ChannelClasses& classes,
                                 NodeId node);

// Returns the network without the channels of the classes that are `removed`. Errors (kInput): a
// layer would have no channel left. REQUIRES: no fixed class is removed.
Result<Network> without_channels(const Network& network, const ChannelClasses& classes,
                                 const std::vector<bool>& removed);

// Returns what is left of `weights`, which fit `network`, in their order (in_order_of).
Weights weights_without(const Network& network, const Weights& weights,
                        const ChannelClasses& classes, const std::vector<bool>& removed);

}  // namespace detol::inline trainer
