#pragma once

// Attention of the reference backend. Private to this folder.

#include "trainer/backends/reference/layer_context.h"

namespace detol::inline trainer::reference {

template <typename Real>
void attention_forward(const LayerContext<Real>& context);
template <typename Real>
void attention_backward(const LayerContext<Real>& context);

}  // namespace detol::inline trainer::reference
