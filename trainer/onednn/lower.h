#pragma once

// One lowering per kind of layer: makes the unit's value, writes its forward steps and leaves a
// closure that writes the backward ones. Errors (kInput): a layer that cannot be run fast.

#include "trainer/onednn/builder.h"

namespace detol::onednn {

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

}  // namespace detol::onednn
