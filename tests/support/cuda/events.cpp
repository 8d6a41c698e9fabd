// Events: marks in the work of a stream, for other streams and for the host to wait for.

#include <chrono>
#include <memory>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/handles.h"
#include "tests/support/cuda/state.h"

using detol::emulated::Capture;
using detol::emulated::Queue;

struct CUevent_st {
  bool has_time = true;
  std::shared_ptr<Queue> queue;  // of the last record, or none
  std::uint64_t number = 0;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
  std::weak_ptr<Capture> capture;  // of the last record, or none
  bool is_captured = false;
  cudaStream_t captured_by = nullptr;
  std::uint64_t captured_after = 0;
};

using namespace detol::emulated;

extern "C" {

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

// With an event of a capture, the stream joins the capture, and the recording stream counts as
// joined.
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

// Works as cudaStreamQuery.
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
