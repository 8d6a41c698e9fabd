#include "scheduler/epoch_forecast.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace detol::inline scheduler {
namespace {

constexpr std::size_t kNeighbours = 5;  // trials whose median speed counts
constexpr double kPriorReports = 4;     // of a machine as fast as the others
constexpr double kMostReports = 30;     // of a machine that count: speeds change

std::string_view machine_of(std::string_view worker) {
  return worker.substr(0, worker.find('/'));
}

}  // namespace

void EpochForecast::learn(TrialId trial, double work, double device_s, std::string_view worker) {
  Ratios& own = ratios_.try_emplace(std::string(machine_of(worker))).first->second;
  const auto foreseen = ratios_.size() > 1 ? without_factor(trial, work) : std::nullopt;
  if (foreseen && *foreseen > 0 && device_s > 0) {
    const double kept = std::min(1.0, (kMostReports - 1) / std::max(1.0, own.count));
    own.sum_of_logs = kept * own.sum_of_logs + std::log(device_s / *foreseen);
    own.count = kept * own.count + 1;
  }
  last_[trial] = {work, device_s / factor_of(worker)};
}

std::optional<double> EpochForecast::device_s(TrialId trial, double work,
                                              std::string_view worker) const {
  const auto seconds = without_factor(trial, work);
  return seconds ? std::optional(*seconds * factor_of(worker)) : std::nullopt;
}

double EpochForecast::factor_of(std::string_view worker) const {
  const auto known = ratios_.find(machine_of(worker));
  if (known == ratios_.end()) return 1;
  return std::exp(known->second.sum_of_logs / (known->second.count + kPriorReports));
}

std::optional<double> EpochForecast::without_factor(TrialId trial, double work) const {
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
