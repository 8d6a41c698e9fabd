#include "search/gp_arms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace detol::inline search {
namespace {

constexpr double kMost = 1.6, kLeast = 1.0 / 128;  // sides
constexpr int kStreak = 3;                         // successes in a row that widen a region
constexpr int kLeastPatience = 4;      // failures in a row that narrow it; else one per choice
constexpr double kImprovement = 1e-3;  // least relative improvement that is a success
constexpr double kMemory = 0.93;       // factor of an arm's credit per trial
constexpr double kImagined = 4;        // prior trials of each arm, half of them successes
constexpr double kFloor = 0.2;         // every arm's least share of what restarts leave

constexpr int kStalled = 2;               // halvings of the leader's region without an improvement
constexpr double kStalledShare = 0.5;     // of the restart's, of all proposals
constexpr double kOwedShare = 0.75;       // the same, where a branch is owed a descent
constexpr double kClosed = 0.05;          // least share of the gap to the leader that is a success
constexpr int kLastHalving = 2;           // of a restart's region, at which it ends
constexpr std::size_t kFirstRestart = 8;  // observations
constexpr std::size_t kMostPeaks = 512;   // the best observations, where a restart may begin

}  // namespace

GpArms::GpArms(const Space& space, double share)
    : space_(space),
      branches_(space),
      prior_(share),
      global_{kImagined * 0.5, kImagined},
      local_{global_} {}

void GpArms::tell(std::string_view proposer, const Genome& genome, double outcome) {
  const std::size_t observation = observations_.size();
  observations_.push_back({genome, outcome, false});
  const double best = region_.best;
  const bool is_success = std::isinf(best) || outcome < best - kImprovement * std::abs(best);
  if (proposer == kGlobalArm || proposer == kRegionArm) {
    Credit& credit = proposer == kRegionArm ? local_ : global_;
    credit = {kMemory * credit.successes + (is_success ? 1 : 0), kMemory * credit.trials + 1};
  }
  const bool by_restart = proposer == kRestartArm && restart_;
  if (by_restart) tell_restart(observation);
  if (is_success) region_.halvings = 0;
  if (outcome < best) lead(observation, by_restart);
  if (proposer == kRegionArm) resize(region_, is_success);
  if (region_.side < kLeast) region_.side = TrustRegion().side;
  const bool is_over = restart_ && (restart_->halvings >= kLastHalving ||
                                    (outcome <= restart_->best && !is_peak(restart_->centre)));
  if (is_over) end_descent(restart_->centre);
  const bool is_wanted = region_.halvings >= kStalled || branches_.count() > 1;
  if (!restart_ && is_wanted && observations_.size() >= kFirstRestart) restart_ = next_restart();
}

void GpArms::tell_restart(std::size_t observation) {
  const double outcome = observations_[observation].outcome;
  const double gap = restart_->best - region_.best;
  const bool is_success = outcome < restart_->best - kClosed * gap;
  if (outcome < restart_->best) {
    restart_->best = outcome;
    restart_->centre = observation;
  }
  resize(*restart_, is_success);
}

// A restart that finds a better basin leads from now on; the descent of the leader before is over.
void GpArms::lead(std::size_t observation, bool by_restart) {
  if (by_restart && !is_near(observation, region_.centre)) {
    const TrustRegion before = region_;
    region_ = *restart_;
    region_.halvings = 0;
    end_descent(before.centre);
  }
  region_.best = observations_[observation].outcome;
  region_.centre = observation;
}

void GpArms::resize(TrustRegion& region, bool is_success) const {
  int patience = 0;
  for (std::size_t i = 0; i < space_.size(); ++i) {
    if (observations_[region.centre].genome.is_active(i) && space_.domains()[i].cardinality() > 1)
      ++patience;
  }
  region.in_success = is_success ? region.in_success + 1 : 0;
  region.in_failure = is_success ? 0 : region.in_failure + 1;
  if (region.in_success == kStreak) {
    region.side = std::min(2 * region.side, kMost);
    region.in_success = 0;
  } else if (region.in_failure >= std::max(kLeastPatience, patience)) {
    region.side /= 2;
    ++region.halvings;
    region.in_failure = 0;
  }
}

void GpArms::end_descent(std::size_t centre) {
  observations_[centre].is_exhausted = true;
  ++descents_[branches_.of(observations_[centre].genome)];
  restart_.reset();
}

// Begins at the best peak that was not descended yet, in the branch with the fewest descents.
std::optional<TrustRegion> GpArms::next_restart() {
  std::vector<std::size_t> order(observations_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(order.size(), kMostPeaks);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](std::size_t i) { return std::pair(observations_[i].outcome, i); });
  is_owed_ = false;
  std::optional<std::size_t> start;
  order.resize(count);
  for (std::size_t i : order) {
    if (start && descents_in_branch_of(i) >= descents_in_branch_of(*start)) continue;
    if (i != region_.centre && !observations_[i].is_exhausted && is_peak(i)) start = i;
  }
  if (!start) return std::nullopt;
  is_owed_ = descents_in_branch_of(*start) == 0;
  return TrustRegion{.centre = *start, .best = observations_[*start].outcome};
}

// The leader counts as a descent in its branch.
int GpArms::descents_in_branch_of(std::size_t observation) const {
  const std::uint64_t branch = branches_.of(observations_[observation].genome);
  const auto ended = descents_.find(branch);
  const bool leads = branch == branches_.of(observations_[region_.centre].genome);
  return (ended == descents_.end() ? 0 : ended->second) + (leads ? 1 : 0);
}

bool GpArms::is_peak(std::size_t observation) const {
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    if (observations_[i].outcome < observations_[observation].outcome && is_near(observation, i))
      return false;
  }
  return true;
}

bool GpArms::is_near(std::size_t a, std::size_t b) const {
  return is_within(kBasinRadius, space_, observations_[a].genome, observations_[b].genome);
}

bool GpArms::is_stalled() const {
  return is_owed_ || region_.halvings >= kStalled;
}

GpArms::Shares GpArms::shares(bool may_restart) const {
  double restart = 0;
  if (may_restart && restart_ && is_stalled()) restart = is_owed_ ? kOwedShare : kStalledShare;
  const double region = prior_ * local_.rate(), global = (1 - prior_) * global_.rate();
  if (!(region + global > 0)) return {prior_ * (1 - restart), restart};
  const double least = std::min({kFloor, prior_, 1 - prior_});
  const double share = std::clamp(region / (region + global), least, 1 - least);
  return {share * (1 - restart), restart};
}

}  // namespace detol::inline search
