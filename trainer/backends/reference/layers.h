#pragma once

// The layers of the reference backend: the definition of each, as plain loops over N x C x H x W.
// Nothing is kept between forward and backward, so every gradient can be checked by hand from
// the layer's inputs. Slow on purpose.

#include "trainer/backends/reference/layer_context.h"

namespace detol::inline trainer::reference {

// Runs the layer forward; in training also moves the running statistics.
template <typename Real>
void forward(const LayerContext<Real>& context);

// Runs the layer backward. REQUIRES: a training context.
template <typename Real>
void backward(const LayerContext<Real>& context);

}  // namespace detol::inline trainer::reference
