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
constexpr double kFloor = 0.2;         // every arm's least share of what it is drawn from

constexpr int kStalled = 2;                // halvings of the leader's region without an improvement
constexpr double kStalledShare = 0.5;      // of the restart's, of all trials
constexpr double kMostStalled = 0.9;       // of those that the searcher makes
constexpr double kOwnMemory = 0.95;        // factor per trial of the share that the searcher makes
constexpr double kOwedShare = 0.6;         // of a descent that a branch is owed
constexpr double kClosed = 0.05;           // least share of the gap to the leader that is a success
constexpr double kClosedInBranches = 0.4;  // the same, in a space with branches
constexpr int kLastHalving = 3;            // of a restart's region, at which it ends
constexpr int kLastInBranches = 2;         // the same, in a space with branches
constexpr std::size_t kFirstRestart = 8;   // observations
constexpr std::size_t kMostTested = 8;     // starts that one call asks the test about
constexpr std::size_t kMostRestarts = 4;   // at a time

// Returns the part of a in a + b, no less and no more than `least` leaves; nullopt if both are 0.
std::optional<double> share_of(double a, double b, double least) {
  if (a + b <= 0) return std::nullopt;
  return std::clamp(a / (a + b), least, 1 - least);
}

}  // namespace

void GpArms::Credit::count(bool is_success) {
  successes = kMemory * successes + (is_success ? 1 : 0);
  trials = kMemory * trials + 1;
}

GpArms::GpArms(const Space& space, double share, bool has_bound)
    : space_(space),
      branches_(space),
      prior_(share),
      has_bound_(has_bound),
      global_{kImagined * 0.5, kImagined},
      bound_{global_},
      local_{global_} {}

GpArms::Credit* GpArms::credit_of(std::string_view proposer) {
  if (proposer == kGlobalArm) return &global_;
  if (proposer == kBoundArm) return &bound_;
  return proposer == kRegionArm ? &local_ : nullptr;
}

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
  if (Credit* const credit = credit_of(proposer)) {
    credit->count(is_success);
    ++idle_;
  }
  TrustRegion* const restart = restart_of(proposer);
  if (restart != nullptr) tell_restart(*restart, observation);
  if (is_success) region_.halvings = idle_ = 0;
  if (outcome < best) lead(observation, restart);
  if (proposer == kRegionArm) resize(region_, is_success);
  if (region_.side < kLeast) region_.side = TrustRegion().side;
  const int last = branches_.count() > 1 ? kLastInBranches : kLastHalving;
  std::erase_if(restarts_, [&](const TrustRegion& one) {
    const bool is_over = one.halvings >= last || !is_peak(one.centre);
    if (is_over) end_descent(one.centre);
    return is_over;
  });
}

// Returns the restart that the trial belongs to, which it may begin; nullptr if none goes on.
TrustRegion* GpArms::restart_of(std::string_view proposer) {
  const std::optional<std::size_t> start = start_of(proposer);
  if (!start) return nullptr;
  const auto found = std::ranges::find(restarts_, *start, &TrustRegion::start);
  if (found != restarts_.end()) return &*found;
  if (observations_[*start].is_start) return nullptr;  // it ended before
  if (restarts_.size() == kMostRestarts) {
    end_descent(restarts_.front().centre);
    restarts_.erase(restarts_.begin());
  }
  observations_[*start].is_start = true;
  restarts_.push_back({.start = *start, .centre = *start, .best = observations_[*start].outcome});
  return &restarts_.back();
}

void GpArms::tell_restart(TrustRegion& restart, std::size_t observation) {
  const double outcome = observations_[observation].outcome;
  const double gap = restart.best - region_.best;
  const double closed = branches_.count() > 1 ? kClosedInBranches : kClosed;
  const bool is_success = outcome < restart.best - closed * gap;
  if (outcome < restart.best) {
    restart.best = outcome;
    restart.centre = observation;
  }
  resize(restart, is_success);
}

// A restart that finds a better basin leads from now on. The descent of the leader before is over,
// unless it hardly began.
void GpArms::lead(std::size_t observation, const TrustRegion* restart) {
  if (restart != nullptr && !is_near(observation, region_.centre)) {
    const TrustRegion before = region_;
    region_ = *restart;
    region_.halvings = 0;
    restarts_.erase(restarts_.begin() + (restart - restarts_.data()));
    if (before.trials >= patience_in(before)) end_descent(before.centre);
  }
  region_.best = observations_[observation].outcome;
  region_.centre = observation;
}

// Returns how many failures in a row narrow a region.
int GpArms::patience_in(const TrustRegion& region) const {
  int choices = 0;
  for (std::size_t i = 0; i < space_.size(); ++i) {
    if (observations_[region.centre].genome.is_active(i) && space_.domains()[i].cardinality() > 1)
      ++choices;
  }
  return std::max(kLeastPatience, choices);
}

void GpArms::resize(TrustRegion& region, bool is_success) const {
  ++region.trials;
  region.in_success = is_success ? region.in_success + 1 : 0;
  region.in_failure = is_success ? 0 : region.in_failure + 1;
  if (region.in_success == kStreak) {
    region.side = std::min(2 * region.side, kMost);
    region.in_success = 0;
  } else if (region.in_failure >= patience_in(region)) {
    region.side /= 2;
    ++region.halvings;
    region.in_failure = 0;
  }
}

void GpArms::end_descent(std::size_t centre) {
  observations_[centre].is_exhausted = true;
  ++descents_[observations_[centre].branch];
}

// Returns the best peak that was not descended yet, where the test lets a restart begin, in the
// branch with the fewest descents, those of the other restarts included.
std::optional<std::size_t> GpArms::next_start(const StartTest& may_start,
                                              const std::vector<TrustRegion>& others) const {
  std::set<int> levels;
  for (const auto& [branch, descents] : descents_) levels.insert(descents_with(branch, others));
  std::size_t tested = 0;
  for (int level : levels) {
    for (std::size_t i : order_) {
      const Observation& at = observations_[i];
      if (at.is_exhausted || at.is_start || i == region_.centre) continue;
      if (std::ranges::find(others, i, &TrustRegion::start) != others.end()) continue;
      if (descents_with(at.branch, others) != level || !is_peak(i)) continue;
      if (may_start(i, region_.centre)) return i;
      if (++tested == kMostTested) return std::nullopt;
    }
  }
  return std::nullopt;
}

// Returns the restarts that go on, but for those that are found to descend into the leader's basin,
// and the next ones.
std::vector<TrustRegion> GpArms::restarts_for(const StartTest& may_start, std::size_t most) const {
  std::vector<TrustRegion> restarts;
  if (observations_.size() < kFirstRestart) return restarts;
  for (const TrustRegion& one : restarts_) {
    if (may_start(one.centre, region_.centre)) restarts.push_back(one);
  }
  while (restarts.size() < std::min(most, kMostRestarts)) {
    const std::optional<std::size_t> start = next_start(may_start, restarts);
    if (!start) break;
    restarts.push_back({.start = *start, .centre = *start, .best = observations_[*start].outcome});
  }
  return restarts;
}

// The leader counts as a descent in its branch.
int GpArms::descents_in(std::uint64_t branch) const {
  return descents_.at(branch) + (branch == observations_[region_.centre].branch ? 1 : 0);
}

int GpArms::descents_with(std::uint64_t branch, const std::vector<TrustRegion>& others) const {
  const auto in_branch = [&](const TrustRegion& one) {
    return observations_[one.start].branch == branch;
  };
  return descents_in(branch) + static_cast<int>(std::ranges::count_if(others, in_branch));
}

bool GpArms::is_owed(std::size_t start) const {
  return descents_in(observations_[start].branch) == 0;
}

// Returns true if nothing near the observation is better, and it is not near a leader that is as
// good. Each pair is compared once: later calls look at what was told since.
bool GpArms::is_peak(std::size_t observation) const {
  const Observation& own = observations_[observation];
  for (; !own.is_beaten && own.compared < observations_.size(); ++own.compared) {
    const double other = observations_[own.compared].outcome;
    const bool is_leader = own.compared == region_.centre && own.compared != observation;
    const bool is_better = other < own.outcome || (is_leader && other == own.outcome);
    own.is_beaten = is_better && is_near(own.compared, observation);
  }
  return !own.is_beaten;
}

bool GpArms::is_near(std::size_t a, std::size_t b) const {
  return is_within(kBasinRadius, space_, observations_[a].genome, observations_[b].genome);
}

bool GpArms::is_stalled() const {
  if (region_.halvings >= kStalled) return true;
  return branches_.count() > 1 && idle_ >= kStalled * patience_in(region_);
}

GpArms::Next GpArms::next(const StartTest& may_start, std::size_t most) const {
  Next next{.is_stalled = is_stalled()};
  if (may_start && (next.is_stalled || branches_.count() > 1))
    next.in_restarts = restarts_for(may_start, most);
  const auto is_not_owed = [&](const TrustRegion& one) { return !is_owed(one.start); };
  const bool is_owed_one = !std::ranges::all_of(next.in_restarts, is_not_owed);
  if (is_owed_one) {
    std::erase_if(next.in_restarts, is_not_owed);
    next.restart = kOwedShare;
  } else if (!next.in_restarts.empty() && next.is_stalled) {
    next.restart = std::min(kMostStalled, kStalledShare / own_);
  }
  next.is_stalled = next.is_stalled || is_owed_one;
  Credit everywhere = global_;
  if (has_bound_) {
    everywhere.successes += bound_.successes;
    everywhere.trials += bound_.trials;
  }
  const double least = std::min({kFloor, prior_, 1 - prior_});
  const double share =
      share_of(prior_ * local_.rate(), (1 - prior_) * everywhere.rate(), least).value_or(prior_);
  next.region = share * (1 - next.restart);
  if (has_bound_ && !next.is_stalled) {
    next.bound = share_of(bound_.rate(), global_.rate(), kFloor).value_or(0.5) *
                 (1 - next.region - next.restart);
  }
  return next;
}

}  // namespace detol::inline search
