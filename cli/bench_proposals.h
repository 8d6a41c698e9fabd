#pragma once

// How fast the searcher `gp` is on this machine, for `detol bench surrogate`, by the CPU time of
// one thread, in ten dimensions.
//
//   ask_p50/n=N, ask_p99/n=N  ms: one proposal after N tells, and what was told since the last,
//                             while refits run elsewhere; spread 0
//   run/d=10,evals=500        s: a study of 500 trials, asked and told one by one, refits included

#include <functional>

#include "trainer/bench.h"

namespace detol {

// Half a minute; each figure is handed to `on_figure` as soon as it is known.
void bench_proposals(const std::function<void(Figure)>& on_figure);

}  // namespace detol
