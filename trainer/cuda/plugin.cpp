#include "trainer/cuda/plugin.h"

namespace detol {
namespace {

Result<CudaReport> report() {
  return fail(ErrorCode::kUsage, "the GPU backend is not finished");
}

Result<std::unique_ptr<Executable>> compile(const Network&, const Recipe&, const Placement&) {
  return fail(ErrorCode::kUsage, "the GPU backend is not finished");
}

Result<std::vector<OpenChoice>> open_choices(const Network&, const Recipe&, const Placement&) {
  return std::vector<OpenChoice>();
}

Result<std::vector<TimedChoice>> time_choices(const Network&, const Recipe&, const Placement&,
                                              const std::function<void()>&) {
  return std::vector<TimedChoice>();
}

constexpr CudaPlugin kPlugin = {kCudaStamp, report, compile, open_choices, time_choices};

}  // namespace
}  // namespace detol

extern "C" __attribute__((visibility("default"))) const detol::CudaPlugin* detol_cuda_plugin() {
  return &detol::kPlugin;
}
