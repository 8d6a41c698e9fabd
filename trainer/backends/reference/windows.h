#pragma once

// The reference layers that slide a window: convolution and pooling. Private to this folder.

#include "trainer/backends/reference/layers.h"

namespace detol::reference {

template <typename Real>
void conv_forward(const Turn<Real>& turn);
template <typename Real>
void conv_backward(const Turn<Real>& turn);
template <typename Real>
void max_pool_forward(const Turn<Real>& turn);
template <typename Real>
void max_pool_backward(const Turn<Real>& turn);
template <typename Real>
void avg_pool_forward(const Turn<Real>& turn);
template <typename Real>
void avg_pool_backward(const Turn<Real>& turn);
template <typename Real>
void global_pool_forward(const Turn<Real>& turn);
template <typename Real>
void global_pool_backward(const Turn<Real>& turn);

}  // namespace detol::reference
