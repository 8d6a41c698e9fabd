#pragma once

// DeviceData: a copy of a data set on the device, with its targets as the loss reads them. Kept
// until device_data() is called for another data set. Private to this folder.

#include <memory>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/kernels.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer::cuda {

class DeviceData {
 public:
  // Throws std::bad_alloc if the data does not fit.
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

// Returns the kept copy if it is of this data set, else makes one; null if that does not fit.
std::shared_ptr<const DeviceData> device_data(const Dataset& data, std::int64_t outputs,
                                              bool takes_labels);

}  // namespace detol::inline trainer::cuda
