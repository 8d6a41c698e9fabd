#pragma once

// Streams: queues of work. A stream does its work at once, or, with the setting `lazy`, when a call
// waits for it, so that a forgotten wait shows. While a stream captures, its work becomes the nodes
// of a graph, in the order of the calls; other streams join by an event. Calls that are illegal
// while capturing are refused with the real error, and invalidate the capture.
//
// A thread that waits does the work of the streams that it waits for itself.

#include <driver_types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace detol::emulated {

using Work = std::function<void()>;

// One stream's work that is not done yet.
class Queue {
 public:
  void add(Work work);
  // Does all work up to the one of that number, counted from 1.
  void drain(std::uint64_t number);
  void drain() { drain(added()); }
  std::uint64_t added() const;
  bool is_done(std::uint64_t number) const;

 private:
  mutable std::recursive_mutex mutex_;
  std::deque<Work> waiting_;
  std::uint64_t added_ = 0, done_ = 0;
};

// Appends to the stream, or to the graph that it captures.
cudaError_t enqueue(cudaStream_t stream, Work work);

cudaStreamCaptureStatus capture_status(cudaStream_t stream);

// Does all work of the streams that this thread created.
void drain_all();

// Returns an error if a capture forbids calls that may wait, as cudaMalloc and cudaEventQuery.
cudaError_t unsafe_call();

}  // namespace detol::emulated
