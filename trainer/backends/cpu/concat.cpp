// Concatenation copies every input's channels behind those of the inputs before it, and their
// gradients back. Plain tensors stay plain. In blocks, an input whose first channel is the first of
// a block is copied in whole blocks; another input is shifted in the lanes, so that each of its
// blocks is split over two of the output's.

#include <algorithm>

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {
namespace {

// Slice: the channels of one input within the output.
struct Slice {
  std::int64_t images = 0, positions = 0, lanes = 0;  // lanes: 0 if plain
  std::int64_t of = 0, channels = 0, first = 0;       // of: the output's; first: in the output

  // Calls visit(offset in the input, offset in the output, count), all in floats, for each run.
  template <typename Visit>
  void for_runs(Visit visit) const {
    for (std::int64_t n = 0; n < images; ++n) {
      lanes == 0
          ? visit(n * channels * positions, (n * of + first) * positions, channels * positions)
          : for_blocks(n, visit);
    }
  }

 private:
  std::int64_t blocks(std::int64_t count) const { return (count + lanes - 1) / lanes; }

  template <typename Visit>
  void for_blocks(std::int64_t n, Visit visit) const {
    for (std::int64_t c = 0; c < channels; c += lanes) {
      const std::int64_t used = std::min(lanes, channels - c), lane = (first + c) % lanes;
      const std::int64_t in = (n * blocks(channels) + c / lanes) * positions * lanes;
      const std::int64_t out = (n * blocks(of) + (first + c) / lanes) * positions * lanes;
      if (used == lanes && lane == 0) {
        visit(in, out, positions * lanes);
        continue;
      }
      const std::int64_t head = std::min(used, lanes - lane);
      for (std::int64_t p = 0; p < positions * lanes; p += lanes) {
        visit(in + p, out + p + lane, head);
        if (used > head) visit(in + p + head, out + p + positions * lanes, used - head);
      }
    }
  }
};

// Copies the input's channels to the output, or those of the output's gradient to the input's.
void gather(const Slice& slice, const float* x, float* y) {
  slice.for_runs([&](std::int64_t from, std::int64_t to, std::int64_t floats) {
    std::copy_n(x + from, floats, y + to);
  });
}
void scatter(const Slice& slice, const float* g, float* dx) {
  slice.for_runs([&](std::int64_t to, std::int64_t from, std::int64_t floats) {
    std::copy_n(g + from, floats, dx + to);
  });
}

}  // namespace

Result<void> lower_concat(Builder& b, const Unit& unit) {
  const Node& node = b.node(unit.node);
  const auto is_blocked = [&](NodeId input) { return b.value(input).layout == kBlocked; };
  const Layout layout = std::ranges::any_of(node.inputs, is_blocked) ? kBlocked : kPlain;
  Slice slice{.images = b.batch(),
              .positions = node.shape.height * node.shape.width,
              .lanes = layout == kBlocked ? machine().lanes() : 0,
              .of = node.shape.channels};
  Value& y = b.make_value(unit.node, layout, b.needs_gradient(unit));
  std::vector<InputGradient> gradients;
  for (const NodeId input : node.inputs) {
    Value& x = b.value(input, layout);
    slice.channels = x.shape.channels;
    b.call(gather, slice, x.data, y.data);
    gradients.push_back({.input = &x, .write = [=, &b, &x](Buffer* g, Buffer* dx) {
                           b.call(scatter, slice, g, dx);
                           clear_padding(b, x, dx);
                         }});
    slice.first += slice.channels;
  }
  clear_padding(b, y, y.data);
  b.on_gradients(y, std::move(gradients));
  return {};
}

}  // namespace detol::inline trainer::cpu
