#pragma once

// What the backends share of multi-head attention (LayerKind::kAttention). With the queries q, the
// keys k and the values v of a head, each positions x width, the output of position i is
//
//   sum over j of p_ij v_j,   p_i = softmax over j of q_i k_j / sqrt(width),
//
// where j is at most i if the layer is causal. With rotary positions (Su et al., 2021, RoFormer,
// arXiv 2104.09864) the pair of channels c and c + width / 2 of a query or key at position i turns
// by the angle i 10000^(-2 c / width), so that products depend on distances alone.

#include <cmath>
#include <cstdint>
#include <vector>

#include "encodings/network/layer.h"

namespace detol::inline trainer {

struct Attention {
  std::int64_t heads = 1, key_heads = 1, width = 1, positions = 1;
  bool causal = false, rotary = false;

  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  // Return the first channel in the input of a head's queries, and of the keys and values that it
  // reads.
  std::int64_t queries(std::int64_t head) const { return head * width; }
  std::int64_t keys(std::int64_t head) const { return (heads + head * key_heads / heads) * width; }
  std::int64_t values(std::int64_t head) const { return keys(head) + key_heads * width; }
};

inline Attention attention_of(const Layer& layer, const Shape& input) {
  return {layer.heads,  layer.key_heads, head_width(layer, input), input.height * input.width,
          layer.causal, layer.rotary};
}

inline double rotary_angle(std::int64_t position, std::int64_t pair, std::int64_t width) {
  constexpr double kBase = 10000;
  return static_cast<double>(position) *
         std::pow(kBase, -2 * static_cast<double>(pair) / static_cast<double>(width));
}

// Returns the cosines, then the sines, each positions x width / 2; none unless rotary.
std::vector<float> rotary_table(const Attention& attention);

}  // namespace detol::inline trainer
