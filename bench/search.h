#pragma once

// The searchers' overhead on this machine, for `detol bench search`.
//
//   asks/NAME               pairs of an ask of one trial and its tell, per second of the
//                           thread's CPU time: a study of 500 trials on six choices of five
//                           words (as in NAS-Bench-201)
//   asks/NAME,space=mixed   the same on sixteen choices of all kinds, one under a condition
//                           (as in configs/cnn.yaml)

#include "bench/figures.h"

namespace detol::inline bench {

// Measures what `figures` wants of every row of searchers().
void bench_search(Figures& figures);

}  // namespace detol::inline bench
