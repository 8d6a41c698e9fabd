#include "trainer/backends/cuda/recording.h"

#include <span>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

cudaGraphExec_t recorded(std::span<const Action> actions) {
  const cudaStream_t stream = device().stream;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a graph");
  cudaGraph_t graph = nullptr;
  try {
    for (const Action& action : actions) action.run();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "recording a graph");
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "making a graph");
  return made;
}

}  // namespace

Recording::Recording(const std::vector<Action>& actions) {
  const std::span<const Action> all(actions);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && !all[end].on_host) ++end;
    if (end > i) segments_.push_back({recorded(all.subspan(i, end - i)), {}});
    if (end < all.size()) segments_.push_back({nullptr, all[end++].run});
    i = end;
  }
}

Recording::~Recording() {
  for (const Segment& segment : segments_) {
    if (segment.graph != nullptr) cudaGraphExecDestroy(segment.graph);
  }
}

void Recording::run() const {
  for (const Segment& segment : segments_) {
    if (segment.graph != nullptr)
      check(cudaGraphLaunch(segment.graph, device().stream), "starting a graph");
    else
      segment.on_host();
  }
}

}  // namespace detol::inline trainer::cuda
