#pragma once

// Devices: choosing what trains a study: the CPU, or the GPUs that this process may use. The choice
// is made once, before anything is created; nothing here touches a GPU
// (trainer/backends/cuda/probe.h).

#include <optional>
#include <string>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/budget.h"
#include "scheduler/run/study_run.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

// DeviceRequest holds what the choice of a device depends on.
struct DeviceRequest {
  std::string device;                    // --device: auto, cpu, cuda
  Budget budget;                         // the study's, as changed by a resume
  std::string previous_backend;          // the backend that trained the study before; empty: none
  std::optional<DatasetInfo> data = {};  // the study's; nullopt: read if needed
};

// Sets the backend, the devices and how many workers share one. With `auto` a study resumes on the
// backend that it began with; a new one is trained by GPUs if its budget is in GPU time or a GPU is
// usable. A formula or a table needs no device. Errors: kUsage, with the reason, if a GPU or a
// budget in GPU time is requested and no GPU can be used; kInput if the space asks for a precision
// that the device does not have.
Result<void> choose_device(const DeviceRequest& request, RunOptions& options);

// Returns the GPUs on which workers of this machine train for a search with this backend: none if
// it trains on the CPU. Errors (kUsage): --device says otherwise, or no GPU can be used here.
Result<std::vector<Gpu>> gpus_to_join(const std::string& device, const std::string& backend);

// Returns "cpu", or "cuda (2 x NVIDIA H200)".
std::string device_name(const RunOptions& options);

// Returns the backend of the last run of a study; empty if none is recorded.
Result<std::string> last_backend(const std::string& storage, const std::string& study);

}  // namespace detol::inline scheduler
