#include "trainer/backends.h"

#include <array>

#include "trainer/backends/cpu/backend.h"
#include "trainer/backends/cuda/load.h"
#include "trainer/backends/reference/reference.h"

namespace detol::inline trainer {
namespace {

constexpr std::array kBackends = {
    BackendRow{"cudnn", "GPU, cuDNN, cuBLASLt and our own kernels, the step as a CUDA graph",
               compile_cudnn, list_algorithms_cudnn, time_algorithms_cudnn, nullptr, why_not_cudnn},
    BackendRow{"cpu", "CPU, one thread, oneDNN primitives and our own kernels", compile_cpu,
               nullptr, nullptr, plan_bytes_cpu},
    BackendRow{"reference", "plain loops, the oracle the others are tested against",
               compile_reference},
};

}  // namespace

std::span<const BackendRow> backends() {
  return kBackends;
}

std::string_view present_name(std::string_view name) {
  return name == "onednn" ? "cpu" : name;
}

std::string_view name_in_hashes(std::string_view name) {
  return name == "cpu" ? "onednn" : name;
}

}  // namespace detol::inline trainer
