#pragma once

// Resident: the steps of a candidate on a data set that lies on the device (DeviceSteps). A step is
// one graph: it reads its numbers from a table, makes its batch, trains, and writes its result to
// memory of the host. Private to this folder.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/backends/cuda/compiled.h"
#include "trainer/backends/cuda/device_data.h"

namespace detol::inline trainer::cuda {

// Upload is a growing buffer of the device, filled from the host through pinned memory.
class Upload {
 public:
  // Appends a copy to the stream; waits for the stream if the buffer must grow.
  void put(const void* values, std::size_t bytes);
  template <typename T>
  T* as() const {
    return memory_.as<T>();
  }
  bool moved() { return std::exchange(moved_, false); }  // true if reallocated since the last call

 private:
  DeviceMemory memory_;
  HostMemory staging_;
  bool moved_ = false;
};

class Resident final : public DeviceSteps {
 public:
  // `compiled` outlives this object, which shares `data`.
  Resident(Compiled& compiled, std::shared_ptr<const DeviceData> data);
  ~Resident() override;
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  const DeviceData& data() const { return *data_; }

  void begin(std::span<const EpochImage> images, std::span<const StepSettings> steps) override;
  void step() override;
  std::vector<BatchResult> results(std::size_t in_flight) override;
  BatchResult evaluate(std::int64_t first, std::int64_t count, std::span<float> outputs) override;

 private:
  void record_step();
  Recording record_evaluation(std::int64_t count, std::int64_t all);
  BatchCall batch_call(const Shard& shard) const;
  void wait_for(std::size_t step);

  Compiled& compiled_;
  const std::shared_ptr<const DeviceData> data_;
  Upload order_, rows_, keys_;
  DeviceMemory counters_;  // the next step's row; the first image of an evaluation
  HostMemory results_, evaluation_;
  std::optional<Recording> step_;
  std::map<std::pair<std::int64_t, std::int64_t>, Recording> evaluations_;  // by count, all
  std::vector<cudaEvent_t> events_;  // a ring: the end of step i is event i % size
  std::size_t begun_ = 0, given_ = 0, steps_ = 0;
};

}  // namespace detol::inline trainer::cuda
