#pragma once

// The speed of every layer that a space file can propose, relative to its roof, for `detol bench
// layers`.
//
//   layer/NAME,CxHxW,forward     fraction of the roof: the time that the layer's multiply-adds take
//   layer/NAME,CxHxW,backward    at peak_fma, or its tensors at `bandwidth`, whichever is longer,
//                                over the time that it took
//
// NAME is kind, kernel and stride ("depthwise5x5/2"), CxHxW the input's shape; batch 64. Backward
// counts twice the multiply-adds. Every tensor that must be touched counts once: forward the input,
// output and weights; backward the output's and input's gradient, and the input and twice the
// weights where there are weights. Layers that fit in a cache may exceed 1.

#include "bench/figures.h"

namespace detol::inline bench {

// Measures with the CPU backend what `figures` wants; all of it takes about 30 seconds.
void bench_layers(Figures& figures);

}  // namespace detol::inline bench
