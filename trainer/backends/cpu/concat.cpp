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
  std::int64_t images, positions, lanes;  // lanes: 0 if plain
  std::int64_t channels, of, first;       // of the input, of the output; where it begins

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

struct ConcatInput {
  Value* value;
  Slice slice;
};

void write_gather(Builder& b, const ConcatInput& input, const Value& y) {
  b.step({input.value->data, y.data},
         [slice = input.slice, x = input.value->data, y = y.data](const StepContext&) {
           slice.for_runs([&](std::int64_t from, std::int64_t to, std::int64_t floats) {
             std::copy_n(x->as<float>() + from, floats, y->as<float>() + to);
           });
         });
}

void write_scatter(Builder& b, const ConcatInput& input, Buffer* g, Buffer* dx) {
  b.step({g, dx}, [slice = input.slice, g, dx](const StepContext&) {
    slice.for_runs([&](std::int64_t to, std::int64_t from, std::int64_t floats) {
      std::copy_n(g->as<float>() + from, floats, dx->as<float>() + to);
    });
  });
  clear_padding(b, *input.value, dx);
}

std::vector<ConcatInput> inputs_of(Builder& b, const Unit& unit, Layout layout) {
  const Shape& whole = b.node(unit.node).shape;
  const std::int64_t lanes = layout == kBlocked ? machine().lanes() : 0;
  std::int64_t first = 0;
  std::vector<ConcatInput> inputs;
  for (NodeId input : b.node(unit.node).inputs) {
    Value& value = b.value(input, layout);
    const std::int64_t channels = value.shape.channels;
    inputs.push_back(
        {&value, {b.batch(), whole.height * whole.width, lanes, channels, whole.channels, first}});
    first += channels;
  }
  return inputs;
}

}  // namespace

Result<void> lower_concat(Builder& b, const Unit& unit) {
  const auto is_blocked = [&](NodeId input) { return b.value(input).layout == kBlocked; };
  const bool blocked = std::ranges::any_of(b.node(unit.node).inputs, is_blocked);
  const Layout layout = blocked ? kBlocked : kPlain;
  const std::vector<ConcatInput> inputs = inputs_of(b, unit, layout);
  const auto needs = [](const ConcatInput& input) { return input.value->needs_gradient; };
  Value& y = b.make_value(unit.node, layout, std::ranges::any_of(inputs, needs));
  std::vector<InputGradient> gradients;
  for (const ConcatInput& input : inputs) {
    write_gather(b, input, y);
    gradients.push_back({.input = input.value, .write = [&b, input](Buffer* g, Buffer* dx) {
                           write_scatter(b, input, g, dx);
                         }});
  }
  clear_padding(b, y, y.data);
  b.on_gradients(y, std::move(gradients));
  return {};
}

}  // namespace detol::inline trainer::cpu
