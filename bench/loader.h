#pragma once

// The speed at which one core makes batches of training images, for `detol bench trainer`.
//
//   loader/augmented32        images/s: crop, flip and normalisation of 32x32x3 images of a packed
//                             file, in the order of an epoch, 128 to a batch
//   loader/augmented32,all    likewise, with cutout
//   ahead_spare/NET           speedup of the training of NET, batch 64, by a thread that makes
//                             batches ahead (data/feed.h) on a core of its own: time of the
//                             training thread without it over that with it
//   ahead_full/NET            the same if no core is free for it: time of both threads
//
// Times are the thread's CPU time. The file, 20,000 images of noise (61 MB), lies in a temporary
// folder.

#include "bench/figures.h"

namespace detol::inline bench {

void bench_loader(Figures& figures);

}  // namespace detol::inline bench
