#pragma once

// The searchers' overhead on this machine, for `detol bench search`.
//
//   asks/NAME               pairs of an ask of one trial and its tell, per second of the thread's
//   CPU
//                           time: a study of 500 trials on six choices of five words
//                           (NAS-Bench-201's)
//   asks/NAME,space=mixed   the same on sixteen choices of all kinds, some under conditions
//                           (a space file's like configs/cnn.yaml)

#include <functional>
#include <vector>

#include "trainer/bench.h"

namespace detol {

// Every row of searchers(); each figure is also handed to `on_figure` as soon as it is known.
std::vector<Figure> bench_search(const std::function<void(const Figure&)>& on_figure = {});

}  // namespace detol
