#pragma once

// DeviceData: a data set on the device, as it is in memory of the host, with its targets as losses
// take them. Kept until another one is asked for. Private to this folder.

#include <memory>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/kernels.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer::cuda {

class DeviceData {
 public:
  // Throws std::bad_alloc where there is no room.
  DeviceData(const Dataset& data, std::int64_t outputs, bool takes_labels);

  // Returns the call that makes a batch, with the data set's fields filled in.
  BatchCall call() const;
  bool is_of(const Dataset& data, std::int64_t outputs, bool takes_labels) const;

 private:
  const Dataset* data_;
  const std::uint64_t fingerprint_;
  const std::int64_t outputs_;
  const bool takes_labels_, has_bytes_;
  const Shape shape_;
  DeviceMemory pixels_, targets_, scales_;
};

// Returns the last data set asked for, or makes it; null: there is no room.
std::shared_ptr<const DeviceData> device_data(const Dataset& data, std::int64_t outputs,
                                              bool takes_labels);

}  // namespace detol::inline trainer::cuda
