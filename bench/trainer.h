#pragma once

// Bench: the trainer's figures on this machine, for `detol bench trainer`.
//
//   peak_fma, bandwidth       what the processor can do at most
//   train/NET,batch=B         images/s: forward, backward, SGD
//   roof/NET,batch=B          the same as a fraction of peak_fma: multiply-adds that a step needs
//                             (forward, backward-data, backward-weights; no backward-data for
//                             layers whose input has no parameters behind it), nothing else
//                             counted; Winograd needs fewer than a convolution's definition, so
//                             a wide network may exceed 1
//   compile_cold/NET          ms: the first network of these shapes, in a process that has
//                             compiled another
//   compile_warm/NET          ms: a second one of the same shapes
//   resident/NET,batch=64     the memory that a training adds to a process, over its plan
//   loader/...                images/s of batches (loader.h)
//   workers/2                 images/s of two processes over those of one, by the wall clock
//   group/2                   images/s of a group of two ranks over those of one rank, ResNet-20
//                             with a global batch of 128, by the wall clock; 0 without an mpiexec
//   group_cpu/2               CPU time of a step of one rank alone, over that of each of two ranks
//
// All other times are CPU time, of one thread but in ahead_full, so that other processes hardly
// affect them.

#include "bench/figures.h"
#include "encodings/network/network.h"

namespace detol::inline bench {

// Returns the FLOPs that one training step needs per image.
double training_flops(const Network& network);

// Measures with the CPU backend what `figures` wants; all of it takes about 45 seconds. Not
// for a process that trains, as it forks and empties caches.
void bench_trainer(Figures& figures);

}  // namespace detol::inline bench
