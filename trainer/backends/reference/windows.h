#pragma once

// The reference layers that slide a window: convolution and pooling. Private to this folder.

#include "trainer/backends/reference/layer_context.h"

namespace detol::inline trainer::reference {

template <typename Real>
void conv_forward(const LayerContext<Real>& context);
template <typename Real>
void conv_backward(const LayerContext<Real>& context);
template <typename Real>
void max_pool_forward(const LayerContext<Real>& context);
template <typename Real>
void max_pool_backward(const LayerContext<Real>& context);
template <typename Real>
void avg_pool_forward(const LayerContext<Real>& context);
template <typename Real>
void avg_pool_backward(const LayerContext<Real>& context);
template <typename Real>
void global_pool_forward(const LayerContext<Real>& context);
template <typename Real>
void global_pool_backward(const LayerContext<Real>& context);

}  // namespace detol::inline trainer::reference
