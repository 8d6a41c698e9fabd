#pragma once

// One lowering per kind of layer: makes the unit's value, writes its forward steps and leaves a
// closure that writes the backward ones. Errors (kInput): a layer that cannot be run.

#include "trainer/backends/cuda/builder.h"

namespace detol::inline trainer::cuda {

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

// The bias of a unit's output, if it has one: adds it, and writes its gradient's step.
void write_bias(Builder& builder, const Parameter* bias, const Value& y);
void write_bias_gradient(Builder& builder, const Parameter* bias, const Value& y, Buffer* g);

}  // namespace detol::inline trainer::cuda
