#pragma once

// Recording: work that is done again and again. What is the stream's alone becomes CUDA graphs,
// each launched by one call; what the host has a part in runs between them. Private to this folder.

#include <functional>
#include <vector>

#include <cuda_runtime_api.h>

namespace detol::cuda {

struct Action {
  bool on_host = false;
  std::function<void()> run;
};

class Recording {
 public:
  // Records at once, without running anything. Throws DeviceError.
  explicit Recording(const std::vector<Action>& actions);
  ~Recording();
  Recording(Recording&& other) noexcept : parts_(std::move(other.parts_)) { other.parts_.clear(); }
  Recording& operator=(Recording&&) = delete;

  // Starts it; waits only where the host has a part.
  void run() const;

 private:
  struct Part {
    cudaGraphExec_t graph = nullptr;
    std::function<void()> on_host;  // where there is no graph
  };
  std::vector<Part> parts_;
};

}  // namespace detol::cuda
