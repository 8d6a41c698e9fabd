#pragma once

// Answers: what a network is to say about the images of a batch. Which of the spans are used
// depends on the loss; the buffers are the executable's.

#include <cstdint>
#include <span>

namespace detol {

// Another class that a part of an image is of (mixup, Zhang et al., 2018, arXiv 1710.09412).
struct MixedLabel {
  std::int32_t label = 0;
  float share = 0;  // [0, 1]; the rest is of the image's own label
  friend bool operator==(const MixedLabel&, const MixedLabel&) = default;
};

struct Answers {
  std::span<std::int32_t> labels = {};  // B; classification
  std::span<float> targets = {};        // B x outputs; empty where the loss takes labels
  std::span<MixedLabel> mixes = {};     // B or none; with labels, in training
};

}  // namespace detol
