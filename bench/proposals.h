#pragma once

// The speed of the searcher `gp` on this machine, for `detol bench surrogate`, by the CPU time of
// one thread, in ten dimensions.
//
//   ask_p50/n=N, ask_p99/n=N  ms: one ask after N tells; it takes in the tells since the last
//                             ask, but the time of refits is not counted; spread 0
//   run/d=10,evals=500        s: a study of 500 trials, asked and told one by one, refits included

#include "bench/figures.h"

namespace detol::inline bench {

// Measures what `figures` wants; all of it takes half a minute.
void bench_proposals(Figures& figures);

}  // namespace detol::inline bench
