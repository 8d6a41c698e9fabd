#pragma once

// Measures the peaks of a device, and how long a network takes on it. Private to this folder.

#include <string>

#include "trainer/backends/cuda/plugin.h"

namespace detol::inline trainer::cuda {

// As described in CudaPlugin, but these throw DeviceError and std::bad_alloc.
DevicePeaks peaks(const std::string& precision);
Result<NetworkSeconds> time_network(const Network& network, const Recipe& recipe, int runs);

}  // namespace detol::inline trainer::cuda
