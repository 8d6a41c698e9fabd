#pragma once

// One lowering per kind of layer: it makes the unit's value, writes its forward steps and registers
// a closure that writes the backward ones. Errors (kInput): a layer that cannot be run.

#include "trainer/backends/cuda/builder.h"

namespace detol::inline trainer::cuda {

Result<void> lower_conv(Builder& builder, const Unit& unit);
Result<void> lower_dense(Builder& builder, const Unit& unit);
Result<void> lower_norm(Builder& builder, const Unit& unit);
Result<void> lower_activation(Builder& builder, const Unit& unit);
Result<void> lower_pool(Builder& builder, const Unit& unit);
Result<void> lower_global_pool(Builder& builder, const Unit& unit);
Result<void> lower_flatten(Builder& builder, const Unit& unit);
Result<void> lower_scale(Builder& builder, const Unit& unit);
Result<void> lower_dropout(Builder& builder, const Unit& unit);
Result<void> lower_quantize(Builder& builder, const Unit& unit);
Result<void> lower_concat(Builder& builder, const Unit& unit);
Result<void> lower_layer_norm(Builder& builder, const Unit& unit);

// Write the step that adds a bias to y, and that of the bias's gradient; none if `bias` is null.
void write_bias(Builder& builder, const Parameter* bias, const Value& y);
void write_bias_gradient(Builder& builder, const Parameter* bias, const Value& y, Buffer* g);

}  // namespace detol::inline trainer::cuda
