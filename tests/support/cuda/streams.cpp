#include "tests/support/cuda/streams.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"

using detol::emulated::Queue;
using detol::emulated::Work;

namespace {

struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  std::set<cudaStream_t> streams;
  bool is_spoilt = false;
  std::vector<Work> nodes;
};

}  // namespace

struct CUstream_st {
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  bool is_blocking = true;  // for the legacy stream
  std::thread::id creator = std::this_thread::get_id();
  std::shared_ptr<Capture> capture;
  std::uint64_t captured = 0;  // of its work
  bool is_joined = true;       // again, by the stream that it was forked from
};

struct CUevent_st {
  bool has_time = true;
  std::shared_ptr<Queue> queue;  // of the last record, or none
  std::uint64_t number = 0;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
  std::weak_ptr<Capture> capture;  // where it was recorded in one
  bool is_captured = false;
  cudaStream_t captured_by = nullptr;
  std::uint64_t captured_after = 0;
};

struct CUgraph_st {
  std::vector<Work> nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const std::vector<Work>> nodes;
};

namespace detol::emulated {
namespace {

constexpr std::uint64_t kMostWaiting = 1000;

struct Streams {
  std::recursive_mutex mutex;
  std::set<cudaStream_t> all;
  std::set<std::shared_ptr<Capture>> captures;
  CUstream_st legacy;
};

Streams& streams() {
  static auto* const one = new Streams();
  return *one;
}

// nullptr for a handle that is none.
cudaStream_t stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &streams().legacy;
  const std::scoped_lock lock(streams().mutex);
  return streams().all.contains(handle) ? handle : nullptr;
}

void drain_blocking_streams() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::scoped_lock lock(streams().mutex);
    for (const cudaStream_t stream : streams().all)
      if (stream->is_blocking) queues.push_back(stream->queue);
  }
  for (const auto& queue : queues) queue->drain();
}

cudaError_t spoil(Capture& capture, cudaError_t error) {
  capture.is_spoilt = true;
  return failed(error);
}

// What waits for the stream is illegal while it captures.
cudaError_t may_wait_for(cudaStream_t stream) {
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return spoil(*stream->capture, cudaErrorStreamCaptureUnsupported);
  return unsafe_call();
}

cudaError_t state_after_waiting() {
  check_guards();
  return is_broken() ? failed(broken_by()) : cudaSuccess;
}

cudaError_t capture_of_legacy() {
  const std::scoped_lock lock(streams().mutex);
  for (const cudaStream_t stream : streams().all)
    if (stream->is_blocking && stream->capture != nullptr)
      return spoil(*stream->capture, cudaErrorStreamCaptureImplicit);
  return cudaSuccess;
}

}  // namespace

void Queue::add(Work work) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  ++added_;
  if (!settings().is_lazy) drain(added_);
  if (waiting_.size() > kMostWaiting) drain(done_ + 1);
}

void Queue::drain(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  while (done_ < number && !waiting_.empty()) {
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    ++done_;
    work();
  }
}

std::uint64_t Queue::added() const {
  const std::scoped_lock lock(mutex_);
  return added_;
}

bool Queue::is_done(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  return done_ >= number;
}

cudaError_t enqueue(cudaStream_t handle, Work work) {
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (stream == &streams().legacy) {
    if (const cudaError_t error = capture_of_legacy()) return error;
    drain_blocking_streams();
  }
  if (stream->capture == nullptr) {
    stream->queue->add(std::move(work));
    return cudaSuccess;
  }
  if (stream->capture->is_spoilt) return failed(cudaErrorStreamCaptureInvalidated);
  stream->capture->nodes.push_back(std::move(work));
  ++stream->captured;
  stream->is_joined = stream == stream->capture->origin;
  return cudaSuccess;
}

cudaStreamCaptureStatus capture_status(cudaStream_t handle) {
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr || stream->capture == nullptr) return cudaStreamCaptureStatusNone;
  return stream->capture->is_spoilt ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
}

void drain_all() {
  std::vector<std::shared_ptr<Queue>> queues = {streams().legacy.queue};
  {
    const std::scoped_lock lock(streams().mutex);
    for (const cudaStream_t stream : streams().all)
      if (stream->creator == std::this_thread::get_id()) queues.push_back(stream->queue);
  }
  for (const auto& queue : queues) queue->drain();
}

cudaError_t unsafe_call() {
  const std::scoped_lock lock(streams().mutex);
  for (const auto& capture : streams().captures) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (own && capture->mode == cudaStreamCaptureModeThreadLocal))
      return spoil(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

// --- streams -------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = entered()) return error;
  if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0)
    return failed(cudaErrorInvalidValue);
  *stream = new CUstream_st();
  (*stream)->is_blocking = flags == cudaStreamDefault;
  const std::scoped_lock lock(streams().mutex);
  streams().all.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t error = entered()) return error;
  if (stream == nullptr || stream_of(stream) != stream)
    return failed(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return spoil(*stream->capture, cudaErrorStreamCaptureUnsupported);
  stream->queue->drain();
  const std::scoped_lock lock(streams().mutex);
  streams().all.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (const cudaError_t error = may_wait_for(stream)) return error;
  if (stream == &streams().legacy) drain_blocking_streams();
  stream->queue->drain();
  return state_after_waiting();
}

// Says once that there is work left, and does it meanwhile.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (const cudaError_t error = may_wait_for(stream)) return error;
  Queue& queue = *stream->queue;
  if (queue.is_done(queue.added())) return cudaSuccess;
  queue.drain(queue.added());
  return cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  drain_all();
  return state_after_waiting();
}

cudaError_t cudaDeviceReset() {
  drain_all();
  return is_broken() ? broken_by() : cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (const cudaError_t error = entered()) return error;
  return enqueue(stream, [function, data] {
    if (is_broken()) return;
    const InHostFunction refusing;
    function(data);
  });
}

// --- capturing -----------------------------------------------------------------------------------

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

// There are as many nodes as pieces of work; their handles mean nothing.
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

// --- events --------------------------------------------------------------------------------------

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t error = entered()) return error;
  *event = new CUevent_st();
  (*event)->has_time = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t error = entered()) return error;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr || event == nullptr) return failed(cudaErrorInvalidResourceHandle);
  event->is_captured = stream->capture != nullptr;
  event->capture = stream->capture;
  event->captured_by = stream;
  event->captured_after = stream->captured;
  if (event->is_captured) return cudaSuccess;
  event->time = std::make_shared<std::chrono::steady_clock::time_point>();
  event->queue = stream->queue;
  const cudaError_t error =
      enqueue(stream, [time = event->time] { *time = std::chrono::steady_clock::now(); });
  event->number = event->queue->added();
  return error;
}

// Of an event of a capture: the stream joins it, and the recording one is joined again.
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = entered()) return error;
  const cudaStream_t stream = stream_of(handle);
  if (stream == nullptr || event == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (!event->is_captured) {
    if (event->queue == nullptr) return cudaSuccess;
    if (stream->capture != nullptr) return spoil(*stream->capture, cudaErrorStreamCaptureIsolation);
    return enqueue(stream,
                   [queue = event->queue, number = event->number] { queue->drain(number); });
  }
  const std::shared_ptr<Capture> capture = event->capture.lock();
  if (capture == nullptr || (stream->capture != nullptr && stream->capture != capture))
    return failed(cudaErrorStreamCaptureIsolation);
  if (stream->capture == nullptr) {
    stream->capture = capture;
    stream->is_joined = false;
    capture->streams.insert(stream);
  }
  if (event->captured_after == event->captured_by->captured) event->captured_by->is_joined = true;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = entered()) return error;
  if (event == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (event->is_captured) return failed(cudaErrorCapturedEvent);
  if (const cudaError_t error = unsafe_call()) return error;
  if (event->queue != nullptr) event->queue->drain(event->number);
  return state_after_waiting();
}

// As cudaStreamQuery.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = entered()) return error;
  if (event == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (event->is_captured) return failed(cudaErrorCapturedEvent);
  if (const cudaError_t error = unsafe_call()) return error;
  if (event->queue == nullptr || event->queue->is_done(event->number)) return cudaSuccess;
  event->queue->drain(event->number);
  return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (const cudaError_t error = entered()) return error;
  if (start == nullptr || end == nullptr || !start->has_time || !end->has_time ||
      start->queue == nullptr || end->queue == nullptr)
    return failed(cudaErrorInvalidResourceHandle);
  if (!start->queue->is_done(start->number) || !end->queue->is_done(end->number))
    return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
  return cudaSuccess;
}

}  // extern "C"
