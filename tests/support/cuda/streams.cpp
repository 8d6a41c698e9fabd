#include "tests/support/cuda/streams.h"

#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/handles.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"

namespace detol::emulated {
namespace {

constexpr std::uint64_t kMostWaiting = 1000;

void drain_blocking_streams() {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    const std::scoped_lock lock(streams().mutex);
    for (const cudaStream_t stream : streams().all)
      if (stream->is_blocking) queues.push_back(stream->queue);
  }
  for (const auto& queue : queues) queue->drain();
}

// Returns an error while the stream captures, as waiting for it is illegal then.
cudaError_t may_wait_for(cudaStream_t stream) {
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return spoil(*stream->capture, cudaErrorStreamCaptureUnsupported);
  return unsafe_call();
}

cudaError_t capture_of_legacy() {
  const std::scoped_lock lock(streams().mutex);
  for (const cudaStream_t stream : streams().all)
    if (stream->is_blocking && stream->capture != nullptr)
      return spoil(*stream->capture, cudaErrorStreamCaptureImplicit);
  return cudaSuccess;
}

}  // namespace

Streams& streams() {
  static auto* const one = new Streams();
  return *one;
}

cudaStream_t stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &streams().legacy;
  const std::scoped_lock lock(streams().mutex);
  return streams().all.contains(handle) ? handle : nullptr;
}

cudaError_t spoil(Capture& capture, cudaError_t error) {
  capture.is_spoilt = true;
  return failed(error);
}

cudaError_t state_after_waiting() {
  check_guards();
  return is_broken() ? failed(broken_by()) : cudaSuccess;
}

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

// Returns cudaErrorNotReady once if work is left, and does that work.
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

}  // extern "C"
