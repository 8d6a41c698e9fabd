#pragma once

// Clock measures how long work of the stream takes on the device. Private to this folder.

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {

class Clock {
 public:
  Clock() {
    for (cudaEvent_t* event : {&begin_, &end_})
      check(cudaEventCreateWithFlags(event, cudaEventDefault), "making an event");
  }
  ~Clock() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Returns the seconds that the device takes for what `work` appends; waits for it.
  template <typename Work>
  double time(const Work& work) {
    check(cudaEventRecord(begin_, device().stream), "timing");
    work();
    check(cudaEventRecord(end_, device().stream), "timing");
    check(cudaEventSynchronize(end_), "timing");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace detol::inline trainer::cuda
