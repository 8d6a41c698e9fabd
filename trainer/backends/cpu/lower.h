#pragma once

// One lowering per kind of layer: makes the unit's value, writes its forward steps and leaves a
// closure that writes the backward ones. Errors (kInput): a layer that cannot be run fast.

#include <fmt/format.h>

#include <new>

#include "trainer/backends/cpu/builder.h"

namespace detol::inline trainer::cpu {

// Returns the window of a layer over blocked values.
inline Window window_of(const Builder& b, const Layer& layer, const Shape& x, const Shape& y) {
  return {b.extent(x),  b.extent(y),    height_of(layer),     layer.kernel,
          layer.stride, layer.dilation, padding_above(layer), padding_beside(layer)};
}

// Appends a step that zeroes the padding channels of a blocked value: of its data or of a gradient
// term.
void clear_padding(Builder& b, const Value& y, Buffer* values);

// Returns the Result of an action that calls oneDNN; an exception of oneDNN becomes an error
// (kInternal), but a failed allocation stays std::bad_alloc.
template <typename Action>
auto caught(Action action) -> decltype(action()) {
  try {
    require_memory_for_code();
    return action();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    return fail(ErrorCode::kInternal, fmt::format("oneDNN: {}", error.what()));
  }
}

using Lower = Result<void>(Builder& builder, const Unit& unit);
Lower lower_conv, lower_dense, lower_norm, lower_layer_norm, lower_activation, lower_pool,
    lower_global_pool, lower_flatten, lower_scale, lower_dropout, lower_concat, lower_quantize,
    lower_attention;

}  // namespace detol::inline trainer::cpu
