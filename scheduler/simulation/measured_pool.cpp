#include "scheduler/simulation/measured_pool.h"

#include <algorithm>
#include <cmath>

namespace detol::inline scheduler {
namespace {

constexpr double kLeastS = 1e-6;
constexpr double kRatio = 1.02;  // of neighbouring bins

}  // namespace

void Histogram::add(double seconds) {
  const double bin = std::log(std::max(seconds, kLeastS) / kLeastS) / std::log(kRatio);
  ++counts_[std::min(kBins - 1, static_cast<std::size_t>(bin))];
  ++count_;
}

double Histogram::quantile(double share) const {
  std::int64_t below = 0;
  for (std::size_t i = 0; i < kBins && count_ > 0; ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= share * static_cast<double>(count_))
      return kLeastS * std::pow(kRatio, static_cast<double>(i) + 0.5);
  }
  return 0;
}

std::vector<PoolEvent> MeasuredPool::wait(double at_most_s) {
  const double began_s = thread_seconds();
  std::vector<PoolEvent> events = pool_.wait(at_most_s);
  workers_s_ += thread_seconds() - began_s;
  messages_ += static_cast<std::int64_t>(events.size());
  turn_s_ = system_clock().now_s();
  return events;
}

}  // namespace detol::inline scheduler
