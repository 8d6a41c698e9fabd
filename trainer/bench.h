#pragma once

// Bench: the trainer's figures on this machine, for `detol bench trainer`.
//
//   peak_fma, bandwidth       what the processor can do at most
//   train/NET,batch=B         images/s: forward, backward, SGD
//   roof/NET,batch=B          the same as a fraction of peak_fma: multiply-adds that a step needs
//                             (forward, backward-data, backward-weights; no backward-data for
//                             layers whose input has no parameters behind it), nothing else
//                             counted; Winograd needs fewer than a convolution's definition, so
//                             a wide network may pass 1
//   compile_cold/NET          ms: the first network of these shapes, in a process that has
//                             compiled another
//   compile_warm/NET          ms: a second one of the same shapes
//   workers/2                 images/s of two processes over those of one, by the wall clock
//
// All but workers/2 are by the thread's CPU time, one thread, so that neighbours do not count.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encodings/network.h"

namespace detol {

struct Figure {
  std::string name;
  double value = 0;  // the median; of peak_fma the maximum
  std::string unit;
  std::int64_t n = 0;  // measurements
  double spread = 0;   // (p90 - p10) / median
};

// FLOPs that one training step needs per image.
double training_flops(const Network& network);

// Runs every figure with the backend `onednn`, about half a minute; each is also handed to
// `on_figure` as soon as it is known. Not for a process that trains: forks, and empties caches.
std::vector<Figure> bench_trainer(const std::function<void(const Figure&)>& on_figure = {});

}  // namespace detol
