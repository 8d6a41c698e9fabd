#pragma once

// The surrogate's speed on this machine, for `detol bench surrogate`, by the CPU time of one
// thread, on random points in ten dimensions.
//
//   append/n=N                us: a row appended to a factor of N, its kernel row given
//   read_floor/n=N            us: the numbers of the same factor read once and added up, measured
//                             in turns with the appends: append cannot be much faster
//   refactor/n=N              us: the whole factorisation, by blocks
//   pool_append/n=2000,m=1000 ms: one more observation for a pool of 1,000 candidates, its kernel
//                             row included
//
// and those of proposals.h.

#include "bench/figures.h"

namespace detol::inline bench {

// Measures what `figures` wants; all of it takes a minute and a half on one core.
void bench_surrogate(Figures& figures);

}  // namespace detol::inline bench
