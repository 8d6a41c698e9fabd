#pragma once

// State: the settings of the emulated device, whether it is broken, and the last error of the
// calling thread. Safe to use from any thread.
//
// DETOL_EMULATED_DEVICE is a list of words with commas between them:
//   none          there is no device
//   devices:N     N of them (1)
//   apart         every thread of every process sees devices of its own, as ranks of a group may
//   memory:BYTES  of each (2 GiB)
//   malloc:N      the N-th cudaMalloc and all after it find no memory
//   launch:N      in the N-th kernel the device breaks for good: an illegal address
//   lost:N        likewise, as if it had been taken out of the machine
//   hungry:BYTES  every engine of cuDNN wants that much more workspace for each image
//   lazy          streams do no work before a call waits for them
//   reversed      blocks and their threads run from the last to the first, with equal results

#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace detol::emulated {

struct Settings {
  int devices = 1;
  std::size_t memory = std::size_t{2} << 30;
  std::int64_t failing_malloc = 0, failing_launch = 0, losing_launch = 0;  // 0: none
  bool is_lazy = false, is_reversed = false, is_apart = false;
  std::int64_t hunger = 0;  // bytes of workspace that every engine of cuDNN wants for an image
};

// Throws std::invalid_argument for a word that it does not know.
Settings settings_from(std::string_view words);

// The settings of the environment, or those that a test set. set() also repairs a broken device.
const Settings& settings();
void set(const Settings& settings);

constexpr int kMultiprocessors = 2;

// Remembers the error of the calling thread, and returns it.
cudaError_t failed(cudaError_t error);

// Returns cudaSuccess, or the error that every call of the runtime returns at once: the device is
// broken or not there, or a host function makes the call.
cudaError_t entered();

// Breaks the device for good, and says why on stderr.
void break_device(cudaError_t error, const char* what);
bool is_broken();
cudaError_t broken_by();

// Counts a kernel that is about to run. False: the device is broken, it does not run.
bool may_run();
// False: this cudaMalloc finds no memory.
bool may_allocate();

int current_device();
std::array<char, 16> uuid_of_device(int device);

// While a function of the host runs on a stream, calls of the runtime are refused.
struct InHostFunction {
  InHostFunction();
  ~InHostFunction();
};

}  // namespace detol::emulated
