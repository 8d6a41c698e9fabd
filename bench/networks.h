#pragma once

// The networks that the benches train; tests use them, too.

#include <cstdint>
#include <span>
#include <string_view>

#include "encodings/network/network.h"
#include "trainer/backends/backend.h"

namespace detol::inline bench {

// ResNet: the CIFAR ResNet of depth 6 n + 2 (He et al., 2016, arXiv 1512.03385), n basic blocks a
// stage, widths w, 2 w, 4 w, and 1x1 projections where the shape changes.
struct ResNet {
  Shape input{3, 32, 32};
  std::int64_t width = 16;
  int blocks = 1;
  std::int64_t stem_stride = 1;
  std::int64_t classes = 10;
};
Network make_resnet(const ResNet& options);

struct BenchNetworkRow {
  std::string_view name;
  std::string_view summary;
  Network (*make)();
};

// Gives an executable of this network weights and a batch of noise: arithmetic takes as long for
// noise as for photographs.
void prepare_with_noise(const Network& network, Executable& executable);

// Returns lenet, resnet8, resnet20, nb201, mlp, wide64.
std::span<const BenchNetworkRow> bench_networks();

}  // namespace detol::inline bench
