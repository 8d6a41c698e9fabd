#pragma once

// BatchTargets points to the labels and regression targets of the images of a batch. The loss
// decides which of the spans are used; the executable owns the buffers.

#include <cstdint>
#include <span>

namespace detol::inline trainer {

// MixedLabel is the second class of a blended image (mixup, Zhang et al., 2018, arXiv 1710.09412).
struct MixedLabel {
  std::int32_t label = 0;
  float share = 0;  // [0, 1]; the rest belongs to the image's own label
  friend bool operator==(const MixedLabel&, const MixedLabel&) = default;
};

struct BatchTargets {
  std::span<std::int32_t> labels = {};  // B; classification
  std::span<float> targets = {};        // B x outputs; empty if the loss takes labels
  std::span<MixedLabel> mixes = {};     // B or none; with labels, in training
};

}  // namespace detol::inline trainer
