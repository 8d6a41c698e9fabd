#pragma once

// One lowering per kind of layer: it makes the unit's value, writes its forward steps and registers
// a closure that writes the backward ones. Errors (kInput): a layer that cannot be run.

#include "trainer/backends/cuda/builder.h"

namespace detol::inline trainer::cuda {

using Lower = Result<void>(Builder& builder, const Unit& unit);
Lower lower_conv, lower_dense, lower_norm, lower_layer_norm, lower_activation, lower_pool,
    lower_global_pool, lower_flatten, lower_scale, lower_dropout, lower_concat, lower_quantize,
    lower_attention;

// Write the step that adds a bias to y, and that of the bias's gradient; none if `bias` is null.
void write_bias(Builder& builder, Parameter* bias, const Value& y);
void write_bias_gradient(Builder& builder, Parameter* bias, const Value& y, Buffer* g);

}  // namespace detol::inline trainer::cuda
