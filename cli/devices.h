#pragma once

// Devices: the choice of what trains a study: the CPU, or the GPUs that this process may use. It
// is made once, before
// anything exists; nothing here touches a GPU (trainer/backends/cuda/probe.h).

#include <optional>
#include <string>

#include "cli/commands.h"
#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/budget.h"
#include "scheduler/run/study_run.h"
#include "trainer/data/dataset.h"

namespace detol::inline cli {

// DeviceQuestion holds what the choice of a device depends on.
struct DeviceQuestion {
  std::string asked;                     // --device: auto, cpu, cuda
  Budget budget;                         // in force, or that the study is to have
  std::string begun_with;                // the backend that trained the study before; empty: none
  std::optional<DatasetInfo> data = {};  // the study's; none: read where it is needed
};

// Sets the backend, the devices and how many workers share one. With `auto` a study resumes as it
// began; a new one is trained by GPUs where a budget in their time asks for them or one can be
// used. A formula or a table needs no device. Errors: kUsage where a GPU is asked for and cannot
// be used, saying why, or the CPU has no such budget; kInput where the space asks for a precision
// that the device does not have.
Result<void> choose_device(const DeviceQuestion& question, RunOptions& options);

// "cpu", or "cuda (2 x NVIDIA H200)".
std::string device_name(const RunOptions& options);

// The backend of the last run of a study; empty: nothing says it.
Result<std::string> last_backend(const std::string& storage, const std::string& study);

}  // namespace detol::inline cli
