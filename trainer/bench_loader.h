#pragma once

// How fast one core makes batches of training images, for `detol bench trainer`.
//
//   loader/augmented32        images/s: crop, flip and normalisation of 32x32x3 images of a packed
//                             file, in the order of an epoch, 128 to a batch
//   loader/augmented32,all    likewise, with cutout
//
// By the thread's CPU time. The file, 20,000 images of noise (61 MB), lies in a temporary folder.

#include "trainer/figures.h"

namespace detol {

void bench_loader(Figures& figures);

}  // namespace detol
