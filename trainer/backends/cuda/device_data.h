#pragma once

// DeviceData: a copy of a data set on the device, with its targets as the loss reads them. Kept
// until device_data() is called for another data set. Private to this folder.

#include <memory>
#include <vector>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/kernels.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer::cuda {

// TargetForm: what a network's loss reads of each image.
struct TargetForm {
  std::int64_t outputs = 0;
  bool takes_labels = true;               // else a number for each output
  std::vector<float> class_weights = {};  // of training images (data/class_weights.h)
  friend bool operator==(const TargetForm&, const TargetForm&) = default;
};

class DeviceData {
 public:
  // Throws std::bad_alloc if the data does not fit.
  DeviceData(const Dataset& data, const TargetForm& form);

  // Returns the call that makes a batch, with the data set's fields filled in.
  BatchCall call() const;
  bool is_of(const Dataset& data, const TargetForm& form) const;

 private:
  const Dataset* data_;
  const std::uint64_t fingerprint_;
  const TargetForm form_;
  const bool has_bytes_;
  const Shape shape_;
  DeviceMemory pixels_, targets_, scales_;
};

// Returns the kept copy if it is of this data set, else makes one; null if that does not fit.
std::shared_ptr<const DeviceData> device_data(const Dataset& data, const TargetForm& form);

}  // namespace detol::inline trainer::cuda
