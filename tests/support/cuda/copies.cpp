// Copies and fills of the emulated device's memory. A copy that does not match its kind, or leaves
// an allocation, is refused.

#include <cstring>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

bool fits(const void* pointer, std::size_t bytes, bool on_device) {
  const Held held = held_at(pointer);
  if (held.place != Place::kHost && bytes > held.bytes_left) return false;
  return on_device == (held.place == Place::kDevice);
}

bool is_valid(const Copy& copy, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) {
    return fits(copy.to, copy.bytes, held_at(copy.to).place == Place::kDevice) &&
           fits(copy.from, copy.bytes, held_at(copy.from).place == Place::kDevice);
  }
  return fits(copy.to, copy.bytes, to_device) && fits(copy.from, copy.bytes, from_device);
}

void run(const Copy& copy) {
  if (!is_broken()) std::memmove(copy.to, copy.from, copy.bytes);
}

// A copy from host memory that is not pinned reads it before the call returns; a copy to such
// memory is complete when the call returns.
cudaError_t start(const Copy& copy, cudaStream_t stream) {
  const bool reads_host = held_at(copy.from).place == Place::kHost;
  const bool writes_host = held_at(copy.to).place == Place::kHost;
  if (capture_status(stream) != cudaStreamCaptureStatusNone && (reads_host || writes_host))
    return failed(cudaErrorStreamCaptureUnsupported);
  if (reads_host) {
    const auto* first = static_cast<const std::byte*>(copy.from);
    auto bytes = std::make_shared<std::vector<std::byte>>(first, first + copy.bytes);
    return enqueue(stream, [copy, bytes] { run({copy.to, bytes->data(), copy.bytes}); });
  }
  const cudaError_t error = enqueue(stream, [copy] { run(copy); });
  return error == cudaSuccess && writes_host ? cudaStreamSynchronize(stream) : error;
}

cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (!is_for_device(to, bytes)) return failed(cudaErrorInvalidValue);
  return enqueue(stream, [to, value, bytes] {
    if (!is_broken()) std::memset(to, value, bytes);
  });
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const cudaError_t error = entered()) return error;
  if (bytes == 0) return cudaSuccess;
  const Copy copy = {to, from, bytes};
  return is_valid(copy, kind) ? start(copy, stream) : failed(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  if (const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr)) return error;
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = entered()) return error;
  return bytes == 0 ? cudaSuccess : fill(to, value, bytes, stream);
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  return bytes == 0 ? cudaSuccess : fill(to, value, bytes, nullptr);
}

}  // extern "C"
