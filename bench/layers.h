#pragma once

// The speed of every layer that a space file can propose, relative to its roof, for `detol bench
// layers`.
//
//   layer/NAME,CxHxW,forward     fraction of the roof: the time that the layer's multiply-adds take
//   layer/NAME,CxHxW,backward    at peak_fma, or its tensors at `bandwidth`, whichever is longer,
//                                over the time that it took
//
// NAME says kind, kernel and stride ("depthwise5x5/2"), CxHxW what goes in; batch 64. Counted are
// twice the multiply-adds backward, and every tensor that must be touched once: input, output and
// weights forward; the output's and input's gradient, and the input and twice the weights where
// there are weights, backward. What fits in a cache may pass 1.

#include "bench/figures.h"

namespace detol::inline bench {

// Measures with the backend `onednn` what `figures` wants; all of it takes about 30 seconds.
void bench_layers(Figures& figures);

}  // namespace detol::inline bench
