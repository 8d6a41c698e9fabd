#include "search/gp_arms.h"

#include <algorithm>
#include <cmath>

namespace detol::inline search {
namespace {

constexpr double kFirst = 0.8, kMost = 1.6, kLeast = 1.0 / 128;  // sides
constexpr int kStreak = 3;             // successes in a row that widen the region
constexpr double kImprovement = 1e-3;  // least relative improvement that is a success
constexpr double kMemory = 0.93;       // factor of an arm's credit per trial
constexpr double kImagined = 4;        // prior trials of each arm, half of them successes
constexpr double kFloor = 0.2;         // every arm's least share

}  // namespace

GpArms::GpArms(std::size_t dimensions, double share)
    : prior_(share),
      global_{kImagined * 0.5, kImagined},
      region_{global_},
      patience_(static_cast<int>(std::max<std::size_t>(4, dimensions))),
      side_(kFirst) {}

void GpArms::tell(std::string_view proposer, double outcome) {
  const bool is_success = std::isinf(best_) || outcome < best_ - kImprovement * std::abs(best_);
  best_ = std::min(best_, outcome);
  if (proposer != kGlobalArm && proposer != kRegionArm) return;
  Credit& credit = proposer == kRegionArm ? region_ : global_;
  credit = {kMemory * credit.successes + (is_success ? 1 : 0), kMemory * credit.trials + 1};
  if (proposer == kRegionArm) tell_region(is_success);
}

double GpArms::share_of_region() const {
  const double region = prior_ * region_.rate(), global = (1 - prior_) * global_.rate();
  if (!(region + global > 0)) return prior_;
  const double least = std::min({kFloor, prior_, 1 - prior_});
  return std::clamp(region / (region + global), least, 1 - least);
}

void GpArms::tell_region(bool is_success) {
  in_success_ = is_success ? in_success_ + 1 : 0;
  in_failure_ = is_success ? 0 : in_failure_ + 1;
  if (in_success_ == kStreak) {
    side_ = std::min(2 * side_, kMost);
    in_success_ = 0;
  } else if (in_failure_ == patience_) {
    side_ /= 2;
    in_failure_ = 0;
  }
  if (side_ < kLeast) side_ = kFirst;  // the region is exhausted and starts again
}

}  // namespace detol::inline search
