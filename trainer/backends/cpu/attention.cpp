// Attention by our own kernels (kernels_attention.h).

#include "trainer/backends/attention.h"

#include <algorithm>

#include "trainer/backends/cpu/lower.h"

namespace detol::inline trainer::cpu {

Result<void> lower_attention(Builder& b, const Unit& unit) {
  Value& x = b.input(unit, kBlocked);
  const Attention attention = attention_of(b.node(unit.node).layer, x.shape);
  Value& y = b.make_value(unit.node, kBlocked, x.needs_gradient);
  const AttentionShape shape{.images = b.batch(),
                             .heads = attention.heads,
                             .key_heads = attention.key_heads,
                             .width = attention.width,
                             .positions = attention.positions,
                             .in_blocks = b.extent(x).blocks,
                             .out_blocks = b.extent(y).blocks,
                             .causal = attention.causal,
                             .scale = static_cast<float>(attention.scale())};
  const std::int64_t rows = b.batch() * attention.heads * attention.positions;
  Buffer* statistics = b.floats_buffer(static_cast<std::size_t>(2 * rows));
  const auto floats = attention_scratch(machine().padded(attention.width), attention.positions);
  Buffer* scratch = b.scratch(static_cast<std::size_t>(floats) * sizeof(float));
  Buffer* table = b.constant(rotary_table(attention));
  b.call(kernels().attention, shape, table, x.data, y.data, statistics, scratch);
  clear_padding(b, y, y.data);
  const auto backward = [=, &b, &x](Buffer* g, Buffer* dx) {
    b.call(kernels().attention_backward, shape, table, x.data, statistics, g, dx, scratch);
    clear_padding(b, x, dx);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
  return {};
}

}  // namespace detol::inline trainer::cpu
