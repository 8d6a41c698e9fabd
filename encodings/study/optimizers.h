#pragma once

// The optimisers. A new one is a member and a row here, and its formula in
// trainer/backends/optimizer_functions.h. This header includes nothing: the kernels of cpu are
// compiled for several instruction sets and must call no inline function that other code may call.

namespace detol::inline encoding {

enum class OptimizerKind { kSgd, kAdamw, kRmsprop, kLars, kAdam };

struct OptimizerRow {
  const char* name;
  OptimizerKind kind;
  int moments;  // tensors kept beside each trainable one, as in trainer/backends/optimizer.h
};

// The rows of the optimisers, in the order of OptimizerKind.
inline constexpr OptimizerRow kOptimizers[] = {{"sgd", OptimizerKind::kSgd, 1},
                                               {"adamw", OptimizerKind::kAdamw, 2},
                                               {"rmsprop", OptimizerKind::kRmsprop, 2},
                                               {"lars", OptimizerKind::kLars, 1},
                                               {"adam", OptimizerKind::kAdam, 2}};

constexpr int moments_of(OptimizerKind kind) {
  return kOptimizers[static_cast<int>(kind)].moments;
}

}  // namespace detol::inline encoding
