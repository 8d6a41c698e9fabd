// Attention by our own kernels (attention.cu). Where positions are rotary, they read a turned copy
// of the queries and keys, made anew in each direction.

#include "trainer/backends/attention.h"
#include "trainer/backends/cuda/lower.h"

namespace detol::inline trainer::cuda {

Result<void> lower_attention(Builder& b, const Unit& unit) {
  Value& x = b.input(unit);
  Value& y = b.make_value(unit.node, x.needs_gradient);
  const Attention attention = attention_of(b.node(unit.node).layer, x.shape);
  const AttentionCall shape{.type = b.type(),
                            .images = b.batch(),
                            .positions = attention.positions,
                            .heads = attention.heads,
                            .key_heads = attention.key_heads,
                            .width = attention.width,
                            .in_width = channels_of(x),
                            .out_width = channels_of(y),
                            .causal = attention.causal,
                            .scale = static_cast<float>(attention.scale())};
  Buffer* statistics = b.arena().make(
      static_cast<std::size_t>(3 * shape.images * shape.heads * shape.positions) * sizeof(float));
  Buffer* table = b.constant(rotary_table(attention));
  const auto half = static_cast<std::size_t>(b.elements(x)) * size_of(b.type());
  Buffer* scratch = table != nullptr ? b.scratch(2 * half) : nullptr;
  // Returns the call of a step, with a turned copy in the first half of the scratch memory.
  const auto call = [=, x = x.data] {
    AttentionCall made = shape;
    made.x = table != nullptr ? scratch->data : x->data;
    made.statistics = statistics->as<float>();
    if (table != nullptr)
      turn(made, table->as<float>(), false, x->data, scratch->data, device().stream);
    return made;
  };
  b.step({x.data, y.data, statistics}, [=, y = y.data](const StepContext&) {
    attention_forward(call(), y->data, device().stream);
  });
  b.launch(clear_padding, y.data, b.rows(y), y.shape.channels);
  const auto backward = [=, &b, &x, y = y.data](Buffer* g, Buffer* dx) {
    b.step({x.data, y, statistics, g, dx}, [=](const StepContext&) {
      const AttentionCall made = call();
      std::byte* to = table != nullptr ? scratch->data + half : dx->data;
      attention_backward(made, y->data, g->data, to, device().stream);
      if (table != nullptr) turn(made, table->as<float>(), true, to, dx->data, device().stream);
    });
    b.launch(clear_padding, dx, b.rows(x), x.shape.channels);
  };
  b.on_gradients(y, {{.input = &x, .write = backward}});
  return {};
}

}  // namespace detol::inline trainer::cuda
