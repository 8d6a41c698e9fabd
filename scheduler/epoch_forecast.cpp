#include "scheduler/epoch_forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace detol::inline scheduler {
namespace {

constexpr std::size_t kNeighbours = 5;  // trials whose median speed counts

}  // namespace

void EpochForecast::learn(TrialId trial, double work, double device_s) {
  last_[trial] = {work, device_s};
}

std::optional<double> EpochForecast::device_s(TrialId trial, double work) const {
  if (last_.empty()) return std::nullopt;
  // Where work is unknown, seconds alone are compared.
  if (const auto own = last_.find(trial); own != last_.end()) {
    const Epoch& epoch = own->second;
    return work > 0 && epoch.work > 0 ? epoch.device_s * work / epoch.work : epoch.device_s;
  }
  std::vector<std::pair<double, double>> near;  // distance in work, predicted seconds
  for (auto at = last_.rbegin(); at != last_.rend() && near.size() < kMostCompared; ++at) {
    const Epoch& epoch = at->second;
    const double ratio = work > 0 && epoch.work > 0 ? work / epoch.work : 1;
    near.emplace_back(std::abs(std::log(ratio)), epoch.device_s * ratio);
  }
  const std::size_t count = std::min(kNeighbours, near.size());
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) seconds.push_back(near[i].second);
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(count / 2));
  return seconds[count / 2];
}

}  // namespace detol::inline scheduler
