#pragma once

// Benchmarks of groups: the ranks are processes of an MPI job, each this program with a hidden
// argument. Not for a process with threads, since they fork.
//
//   group/NET,ranks=N,HOW   steps/s by the wall clock, over those of HOW = none in the same round
//   group_cpu/...           a rank's CPU time of a step, over that of none in the same round
//   group_loss/...          the mean loss of the last 20 of 100 steps
//
// for NET of mlp, resnet8 (on 1x28x28), lenet, a global batch of 128 of Fashion-MNIST, sgd with
// momentum 0.9 and a rate of 0.02; no figures if that data set is not installed. HOW is a word of
// training.compression, with `+late` at a staleness of 2, with `+slow` at a rate of 0.005.

#include <optional>

#include "bench/figures.h"

namespace detol::inline bench {

// Measures groups for `detol bench groups`; takes about ten minutes on two idle cores.
void bench_groups(Figures& figures);

// Runs as a rank of a bench's group and returns its exit code; nullopt if these are not a rank's
// arguments. For main().
std::optional<int> run_bench_rank(int argc, char** argv);

// Returns images/s, by the wall clock, of `ranks` ranks that train ResNet-20 with a global batch of
// 128; 0 if they could not be started. Private to this folder.
double group_images_per_second(int ranks);

// Returns a rank's CPU seconds for a step of that training. Private to this folder.
double group_step_seconds(int ranks);

}  // namespace detol::inline bench
