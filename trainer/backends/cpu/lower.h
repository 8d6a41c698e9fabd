#pragma once

// One lowering per kind of layer: makes the unit's value, writes its forward steps and leaves a
// closure that writes the backward ones. Errors (kInput): a layer that cannot be run fast.

#include <fmt/format.h>

#include <new>

#include "trainer/backends/cpu/builder.h"

namespace detol::inline trainer::onednn {

// The window of a layer over blocked values.
inline Window window_of(const Builder& b, const Layer& layer, const Value& x, const Value& y) {
  return {b.extent(x),  b.extent(y),    height_of(layer),     layer.kernel,
          layer.stride, layer.dilation, padding_above(layer), padding_beside(layer)};
}

// Zeros where a blocked value has no channel, in its data or in a term of its gradient.
void clear_padding(Builder& builder, const Value& value, Buffer* values);

// The Result of an action that calls oneDNN; what oneDNN throws in it is an error (kInternal), but
// for a failed allocation, which stays std::bad_alloc.
template <typename Action>
auto caught(Action action) -> decltype(action()) {
  try {
    require_memory_for_code();
    return action();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    return fail(ErrorCode::kInternal, fmt::format("onednn: {}", error.what()));
  }
}

// Whatever its layer is.
Result<void> lower_unit(Builder& builder, const Unit& unit);

Result<void> lower_conv(Builder& builder, const Unit& unit);
Result<void> lower_dense(Builder& builder, const Unit& unit);
Result<void> lower_norm(Builder& builder, const Unit& unit);
Result<void> lower_activation(Builder& builder, const Unit& unit);
Result<void> lower_pool(Builder& builder, const Unit& unit);
Result<void> lower_global_pool(Builder& builder, const Unit& unit);
Result<void> lower_flatten(Builder& builder, const Unit& unit);
Result<void> lower_add(Builder& builder, const Unit& unit);
Result<void> lower_scale(Builder& builder, const Unit& unit);
Result<void> lower_dropout(Builder& builder, const Unit& unit);
Result<void> lower_concat(Builder& builder, const Unit& unit);
Result<void> lower_layer_norm(Builder& builder, const Unit& unit);

}  // namespace detol::inline trainer::onednn
