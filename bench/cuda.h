#pragma once

// Training times of a GPU relative to their floors, for `detol bench ... --device cuda`. A floor is
// a lower bound of the time: bytes over the bandwidth or operations over the rate of matrix
// products, whichever is longer, both measured on the same device in the same run. A time may be
// below the floor if the data fit in a cache.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trainer/backends/cuda/plugin.h"

namespace detol::inline bench {

struct CudaBench {
  std::string precision = "bf16";  // the recipe's precision
  std::string only;                // a substring of the names to measure
  std::int64_t batch = 256;
  int runs = 9;
};

// TimeAndFloor: one direction, forward or backward, of a layer or a network.
struct TimeAndFloor {
  double time_s = 0;     // the median
  double bytes_s = 0;    // the floor by the bandwidth
  double product_s = 0;  // the floor by the rate of matrix products

  double floor_s() const { return bytes_s > product_s ? bytes_s : product_s; }
  double ratio() const { return time_s / floor_s(); }
  std::string_view bound() const { return bytes_s > product_s ? "bytes" : "operations"; }
};

// LayerOnDevice: a layer of cases.h; backward.time_s is 0 where nothing is done.
struct LayerOnDevice {
  std::string name;  // "conv3x3,16x32x32"
  TimeAndFloor forward, backward;
};

// NetworkOnDevice: training steps of a network of networks.h on data that lie on the device.
struct NetworkOnDevice {
  std::string name;
  double images_per_s = 0;
  double floor_images_per_s = 0;  // by the sum of the floors of its units (plan.h) and the update
  double compile_cold_ms = 0;     // the first network of these shapes
  double compile_warm_ms = 0;     // a second one of the same shapes
  double bytes = 0;               // of the device, while it trains
  double foreseen_bytes = 0;      // as a search foresees them
  std::int64_t n = 0;             // runs of steps
  double spread = 0;              // (p90 - p10) / median
};

// Measures the device's peaks. Errors: why there is no device (kUsage), or the backend's error.
Result<DevicePeaks> device_peaks(const CudaBench& bench);

// Measure the layers or networks that match `only`, and report each as soon as it is measured.
// Errors as above.
Result<void> bench_layers_cuda(const CudaBench& bench, const DevicePeaks& peaks,
                               const std::function<void(const LayerOnDevice&)>& on_layer);
Result<void> bench_networks_cuda(const CudaBench& bench, const DevicePeaks& peaks,
                                 const std::function<void(const NetworkOnDevice&)>& on_network);

}  // namespace detol::inline bench
