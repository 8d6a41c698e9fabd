#include "trainer/backends.h"

#include <array>

#include "trainer/backends/cpu/onednn.h"
#include "trainer/backends/cuda/load.h"
#include "trainer/backends/reference/reference.h"

namespace detol::inline trainer {
namespace {

constexpr std::array kBackends = {
    BackendRow{"cudnn", "GPU, cuDNN, cuBLASLt and our own kernels, the step as a CUDA graph",
               compile_cudnn, list_algorithms_cudnn, time_algorithms_cudnn, nullptr, why_not_cudnn},
    BackendRow{"onednn", "CPU, one thread, oneDNN primitives and our own kernels", compile_onednn,
               nullptr, nullptr, plan_bytes_onednn},
    BackendRow{"reference", "plain loops, the oracle the others are tested against",
               compile_reference},
};

}  // namespace

std::span<const BackendRow> backends() {
  return kBackends;
}

}  // namespace detol::inline trainer
