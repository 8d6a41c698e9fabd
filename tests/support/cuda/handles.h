#pragma once

// The structs behind the handles of streams, for the files that implement their calls.

#include <driver_types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/cuda/streams.h"

namespace detol::emulated {

// One capture: the nodes of the graph that it becomes, and the streams that take part.
struct Capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  std::set<cudaStream_t> streams;
  bool is_spoilt = false;
  std::vector<Work> nodes;
};

}  // namespace detol::emulated

struct CUstream_st {
  std::shared_ptr<detol::emulated::Queue> queue = std::make_shared<detol::emulated::Queue>();
  bool is_blocking = true;  // for the legacy stream
  std::thread::id creator = std::this_thread::get_id();
  std::shared_ptr<detol::emulated::Capture> capture;
  std::uint64_t captured = 0;  // pieces of its work
  bool is_joined = true;       // another stream waits for all its captured work
};

namespace detol::emulated {

struct Streams {
  std::recursive_mutex mutex;
  std::set<cudaStream_t> all;
  std::set<std::shared_ptr<Capture>> captures;
  CUstream_st legacy;
};

Streams& streams();

// Returns nullptr for an invalid handle.
cudaStream_t stream_of(cudaStream_t handle);

// Marks the capture as invalid, so that it cannot become a graph. Returns the error.
cudaError_t spoil(Capture& capture, cudaError_t error);

// Checks the guard bytes after a wait, and returns the error of a broken device.
cudaError_t state_after_waiting();

}  // namespace detol::emulated
