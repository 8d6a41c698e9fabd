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
//   choose/NET,batch=B        ms: timing the shapes of a network that a study knows none of, where
//                             training.deterministic is false
//   chosen/NET,batch=B        images/s of a training by what was chosen over those of one by the
//                             fixed rule, steps of both in turn
//   loader/...                images/s of batches (loader.h)
//   workers/2                 images/s of two processes over those of one, by the wall clock
//   group/2                   images/s of a group of two ranks over those of one rank, ResNet-20
//                             with a global batch of 128, by the wall clock; 0 without an mpiexec
//   group_cpu/2               the CPU time of one rank's step over that of each of two
//
// All but workers/2 and group/2 are by the thread's CPU time, one thread, so that neighbours do not
// count.

#include <optional>

#include "bench/figures.h"
#include "encodings/network/network.h"

namespace detol::inline bench {

// Returns the FLOPs that one training step needs per image.
double training_flops(const Network& network);

// Measures with the backend `onednn` what `figures` wants; all of it takes about 45 seconds. Not
// for a process that trains: forks, and empties caches.
void bench_trainer(Figures& figures);

// Runs as a rank of a bench's group and returns its exit code; nullopt if these are not a rank's
// arguments. For main().
std::optional<int> run_bench_rank(int argc, char** argv);

}  // namespace detol::inline bench
