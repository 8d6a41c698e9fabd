#include "search/gp_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

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
constexpr double kStalledShare = 0.5;     // of the restart's, of all trials
constexpr double kMostStalled = 0.9;      // of those that the searcher makes
constexpr double kOwnMemory = 0.95;       // factor per trial of the share that the searcher makes
constexpr double kOwedShare = 0.75;       // of a descent that a branch is owed
constexpr double kClosed = 0.05;          // least share of the gap to the leader that is a success
constexpr int kLastHalving = 3;           // of a restart's region, at which it ends
constexpr int kLastInBranches = 2;        // the same, in a space with branches
constexpr std::size_t kFirstRestart = 8;  // observations
constexpr std::size_t kMostTested = 8;    // starts that one call asks the test about

}  // namespace

GpArms::GpArms(const Space& space, double share)
    : space_(space),
      branches_(space),
      prior_(share),
      global_{kImagined * 0.5, kImagined},
      local_{global_} {}

std::string GpArms::proposer_of(const TrustRegion& restart) const {
  return fmt::format("{} {}", kRestartArm, observations_[restart.start].trial);
}

// Returns the observation where the restart began that made a trial; nullopt if none did, or its
// outcome is not known any more.
std::optional<std::size_t> GpArms::start_of(std::string_view proposer) const {
  if (!proposer.starts_with(kRestartArm)) return std::nullopt;
  proposer.remove_prefix(std::min(proposer.size(), kRestartArm.size() + 1));
  TrialId trial = 0;
  const auto end = proposer.data() + proposer.size();
  if (proposer.empty() || std::from_chars(proposer.data(), end, trial).ptr != end)
    return std::nullopt;
  const auto start = first_.find(trial);
  return start == first_.end() ? std::nullopt : std::optional(start->second);
}

void GpArms::tell(const Trial& trial, double outcome) {
  const std::string_view proposer = trial.proposer;
  const std::size_t observation = observations_.size();
  observations_.push_back({trial.id, trial.genome, outcome, branches_.of(trial.genome)});
  first_.try_emplace(trial.id, observation);
  const auto is_better = [&](std::size_t i) { return observations_[i].outcome <= outcome; };
  order_.insert(std::ranges::partition_point(order_, is_better), observation);
  descents_.try_emplace(observations_.back().branch, 0);
  own_ = kOwnMemory * own_ + (1 - kOwnMemory) * (proposer.starts_with("gp") ? 1 : 0);
  const double best = region_.best;
  const bool is_success = std::isinf(best) || outcome < best - kImprovement * std::abs(best);
  if (proposer == kGlobalArm || proposer == kRegionArm) {
    Credit& credit = proposer == kRegionArm ? local_ : global_;
    credit = {kMemory * credit.successes + (is_success ? 1 : 0), kMemory * credit.trials + 1};
  }
  const bool by_restart = is_of_restart(proposer);
  if (by_restart) tell_restart(observation);
  if (is_success) region_.halvings = 0;
  if (outcome < best) lead(observation, by_restart);
  if (proposer == kRegionArm) resize(region_, is_success);
  if (region_.side < kLeast) region_.side = TrustRegion().side;
  const int last = branches_.count() > 1 ? kLastInBranches : kLastHalving;
  const bool is_over = restart_ && (restart_->halvings >= last || !is_peak(restart_->centre));
  if (is_over) end_descent(restart_->centre);
}

// Returns true if the trial belongs to the restart that goes on, or begins the next one.
bool GpArms::is_of_restart(std::string_view proposer) {
  const std::optional<std::size_t> start = start_of(proposer);
  if (!start) return false;
  if (restart_ && restart_->start == *start) return true;
  if (observations_[*start].is_start) return false;  // it ended before
  if (restart_) end_descent(restart_->centre);
  observations_[*start].is_start = true;
  restart_ = {.start = *start, .centre = *start, .best = observations_[*start].outcome};
  return true;
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
  ++descents_[observations_[centre].branch];
  restart_.reset();
}

// Returns the best peak that was not descended yet, where the test lets a restart begin, in the
// branch with the fewest descents.
std::optional<std::size_t> GpArms::next_start(const StartTest& may_start) const {
  std::size_t tested = 0;
  for (int level : levels()) {
    for (std::size_t i : order_) {
      const Observation& at = observations_[i];
      if (at.is_exhausted || at.is_start || i == region_.centre) continue;
      if (descents_in(at.branch) != level || !is_peak(i)) continue;
      if (may_start(i, region_.centre)) return i;
      if (++tested == kMostTested) return std::nullopt;
    }
  }
  return std::nullopt;
}

// Returns the numbers of descents that there are in the branches told of, the least first.
std::set<int> GpArms::levels() const {
  std::set<int> levels;
  for (const auto& [branch, descents] : descents_) levels.insert(descents_in(branch));
  return levels;
}

// Returns the restart that goes on, unless it is found to descend into the leader's basin, or the
// next one.
std::optional<TrustRegion> GpArms::restart_for(const StartTest& may_start, bool is_stalled) const {
  if (!is_stalled && branches_.count() == 1) return std::nullopt;
  if (observations_.size() < kFirstRestart) return std::nullopt;
  if (restart_ && may_start(restart_->centre, region_.centre)) return restart_;
  const std::optional<std::size_t> start = next_start(may_start);
  if (!start) return std::nullopt;
  return TrustRegion{.start = *start, .centre = *start, .best = observations_[*start].outcome};
}

// The leader counts as a descent in its branch.
int GpArms::descents_in(std::uint64_t branch) const {
  return descents_.at(branch) + (branch == observations_[region_.centre].branch ? 1 : 0);
}

bool GpArms::is_owed(std::size_t start) const {
  return descents_in(observations_[start].branch) == 0;
}

// Returns true if nothing near the observation is better.
bool GpArms::is_peak(std::size_t observation) const {
  for (std::size_t i : order_) {
    if (observations_[i].outcome >= observations_[observation].outcome) break;
    if (is_near(i, observation)) return false;
  }
  return true;
}

bool GpArms::is_near(std::size_t a, std::size_t b) const {
  return is_within(kBasinRadius, space_, observations_[a].genome, observations_[b].genome);
}

GpArms::Next GpArms::next(const StartTest& may_start) const {
  Next next{.is_stalled = region_.halvings >= kStalled};
  if (may_start) next.in_restart = restart_for(may_start, next.is_stalled);
  const bool is_owed_one = next.in_restart && is_owed(next.in_restart->start);
  if (is_owed_one) {
    next.restart = kOwedShare;
  } else if (next.in_restart && next.is_stalled) {
    next.restart = std::min(kMostStalled, kStalledShare / own_);
  }
  next.is_stalled = next.is_stalled || is_owed_one;
  const double region = prior_ * local_.rate(), global = (1 - prior_) * global_.rate();
  const double least = std::min({kFloor, prior_, 1 - prior_});
  const double share =
      region + global > 0 ? std::clamp(region / (region + global), least, 1 - least) : prior_;
  next.region = share * (1 - next.restart);
  return next;
}

}  // namespace detol::inline search
