#include "trainer/backends/cuda/sums.h"

#include <vector>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

template <typename Real>
void sum_on_host(Group& group, Real* values, std::size_t count) {
  if (group.size() == 1 || count == 0) return;
  std::vector<Real> own(count);
  to_host(own.data(), values, count * sizeof(Real));
  group.sum(std::span(own));
  to_device(values, own.data(), count * sizeof(Real));
  wait();
}

}  // namespace

void RankSums::sum(float* values, std::size_t count) {
  sum_on_host(group_, values, count);
}

void RankSums::sum(double* values, std::size_t count) {
  sum_on_host(group_, values, count);
}

std::unique_ptr<RankSums> make_sums(Group& group) {
  if (group.size() > 1) {
    if (auto on_device = make_device_sums(group)) return on_device;
  }
  return std::make_unique<RankSums>(group);
}

}  // namespace detol::inline trainer::cuda
