// Captures and the graphs made of them: the work of the captured streams, in the order of the
// calls.

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/handles.h"
#include "tests/support/cuda/state.h"

using detol::emulated::Work;

struct CUgraph_st {
  std::vector<Work> nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const std::vector<Work>> nodes;
};

using namespace detol::emulated;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (stream == &streams().legacy) return failed(cudaErrorStreamCaptureUnsupported);
  if (stream->capture != nullptr) return failed(cudaErrorIllegalState);
  stream->capture = std::make_shared<Capture>();
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->capture->origin = stream;
  stream->capture->streams = {stream};
  const std::scoped_lock lock(streams().mutex);
  streams().captures.insert(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return failed(cudaErrorIllegalState);
  if (capture->origin != stream) return failed(cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id())
    return failed(cudaErrorStreamCaptureWrongThread);
  const std::scoped_lock lock(streams().mutex);
  streams().captures.erase(capture);
  const bool all_joined =
      std::ranges::all_of(capture->streams, [](cudaStream_t one) { return one->is_joined; });
  for (const cudaStream_t one : capture->streams) {
    one->capture = nullptr;
    one->is_joined = true;
  }
  if (capture->is_spoilt) return failed(cudaErrorStreamCaptureInvalidated);
  if (!all_joined) return failed(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{std::move(capture->nodes)};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (const cudaError_t error = entered()) return error;
  if (stream_of(stream) == nullptr) return failed(cudaErrorInvalidResourceHandle);
  *status = capture_status(stream);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (const cudaError_t error = entered()) return error;
  if (made == nullptr || graph == nullptr) return failed(cudaErrorInvalidValue);
  *made = new CUgraphExec_st{std::make_shared<const std::vector<Work>>(graph->nodes)};
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream) {
  if (const cudaError_t error = entered()) return error;
  return graph == nullptr ? failed(cudaErrorInvalidValue) : enqueue(stream, [] {});
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  if (const cudaError_t error = entered()) return error;
  if (graph == nullptr) return failed(cudaErrorInvalidValue);
  return enqueue(stream, [nodes = graph->nodes] {
    for (const Work& node : *nodes) node();
  });
}

// There are as many nodes as pieces of work; handles of nodes are not supported.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (const cudaError_t error = entered()) return error;
  if (graph == nullptr || count == nullptr) return failed(cudaErrorInvalidValue);
  if (nodes == nullptr) *count = graph->nodes.size();
  return nodes == nullptr ? cudaSuccess : failed(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  if (const cudaError_t error = entered()) return error;
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (const cudaError_t error = entered()) return error;
  delete graph;
  return cudaSuccess;
}

}  // extern "C"
