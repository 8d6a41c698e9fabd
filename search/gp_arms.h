#pragma once

// The arms of the searcher `gp`:
//
//   global    looks everywhere, by the expected improvement
//   bound     looks everywhere, by the confidence bound, while the leader is not stalled; only
//             where the searcher allows it
//   region    a trust region around the best, the leader, wider after successes and narrower after
//             failures (TuRBO; Eriksson et al., 2019, "Scalable Global Optimization via Local
//             Bayesian Optimization", NeurIPS, arXiv 1910.01739)
//   restart   a second trust region, around the best observation of a basin (basins.h) that was not
//             descended yet; it ends when it fails to close its gap to the leader, and becomes the
//             leader when it does
//
// The region and the two that look everywhere are drawn in proportion to how often their recent
// trials improved on the best; of those two likewise. `restart` gets half of all trials while the
// leader is stalled: its region was halved kStalled times since anything improved; where others
// make a part of the trials, a larger share of those that are left. So a search that polishes a
// local optimum looks for another one. In a space with branches the leader is stalled sooner, by
// the failures of all arms, and every branch is owed one descent from the start, as a few points
// say little about the optimum of a branch. A leader that was overtaken before its region had as
// many trials as narrow it was not descended.
//
// Where trials are pending, several restarts go on at a time, in basins and branches of their own:
// a descent gains little from eight trials at once, of which none knows the others' outcomes.
//
// A restart is named by the trial where it begins, in its own trials' proposer ("gp restart 57"):
// it is known from the trials told alone, and an outcome that arrives after its restart ended
// counts for no other.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "search/basins.h"

namespace detol::inline search {

// Names of the arms as proposers of trials; the ledger stores them, of a restart with its trial.
inline constexpr std::string_view kGlobalArm = "gp global", kRegionArm = "gp region",
                                  kBoundArm = "gp bound", kRestartArm = "gp restart";

// TrustRegion: the state of a region. `side` is its width in the unit cube, for a choice of average
// length scale.
struct TrustRegion {
  std::size_t start = 0;   // of a restart: the observation where it began
  std::size_t centre = 0;  // the best observation in it
  double best = std::numeric_limits<double>::infinity();
  double side = 0.8;
  int trials = 0;                      // that were told in it
  int in_success = 0, in_failure = 0;  // its trials in a row
  int halvings = 0;  // of the leader: since anything improved on it; of a restart: since it began
};

class GpArms {
 public:
  // `share` is the region's share of the proposals before any outcome is told. `space` outlives
  // this object.
  GpArms(const Space& space, double share, bool has_bound = false);

  // Records an outcome, smaller is better, of a trial that an arm or another proposer made; of one
  // that was told before (a longer training) it is another observation. Observations are numbered
  // in the order of the calls.
  void tell(const Trial& trial, double outcome);

  // Returns true if a restart at an observation may find a basin that is better than the leader's.
  using StartTest = std::function<bool(std::size_t start, std::size_t leader)>;

  // Next: what the next proposals are drawn from.
  struct Next {
    double region = 0, restart = 0, bound = 0;  // shares; the global arm has what is left
    std::vector<TrustRegion> in_restarts = {};  // the regions of restarts, for one proposal each
    bool is_stalled = false;  // the leader no longer improves, or a branch is owed a descent
  };
  // Returns the restarts that go on, and new ones while they are fewer than `most`. An empty test:
  // there are none.
  Next next(const StartTest& may_start, std::size_t most = 1) const;

  // Returns the proposer of a restart's trials.
  std::string proposer_of(const TrustRegion& restart) const;

  const TrustRegion& region() const { return region_; }
  const Branches& branches() const { return branches_; }

 private:
  struct Observation {
    TrialId trial;
    Genome genome;
    double outcome;
    std::uint64_t branch;
    bool is_exhausted = false;         // a descent ended here
    bool is_start = false;             // a restart began here
    mutable std::size_t compared = 0;  // with so many of the first observations
    mutable bool is_beaten = false;    // one of these is better, and near
  };
  struct Credit {
    double successes, trials;  // recent ones count more
    double rate() const { return successes / trials; }
    void count(bool is_success);
  };

  Credit* credit_of(std::string_view proposer);  // nullptr: it has none
  std::optional<std::size_t> start_of(std::string_view proposer) const;
  TrustRegion* restart_of(std::string_view proposer);
  void tell_restart(TrustRegion& restart, std::size_t observation);
  void lead(std::size_t observation, const TrustRegion* restart);
  int patience_in(const TrustRegion& region) const;
  void resize(TrustRegion& region, bool is_success) const;
  bool is_stalled() const;
  void end_descent(std::size_t centre);
  std::vector<TrustRegion> restarts_for(const StartTest& may_start, std::size_t most) const;
  std::optional<std::size_t> next_start(const StartTest& may_start,
                                        const std::vector<TrustRegion>& others) const;
  bool is_peak(std::size_t observation) const;
  bool is_near(std::size_t a, std::size_t b) const;
  bool is_owed(std::size_t start) const;
  int descents_in(std::uint64_t branch) const;
  int descents_with(std::uint64_t branch, const std::vector<TrustRegion>& others) const;

  const Space& space_;
  Branches branches_;
  double prior_;
  bool has_bound_;
  Credit global_, bound_, local_;
  TrustRegion region_;                 // the leader's
  int idle_ = 0;                       // trials of the arms since anything improved on the leader
  std::vector<TrustRegion> restarts_;  // that go on, the latest last
  double own_ = 1;                     // recent share of the trials that this searcher made
  std::vector<Observation> observations_;
  std::map<TrialId, std::size_t> first_;   // observation of each trial
  std::vector<std::size_t> order_;         // of the observations, the best first
  std::map<std::uint64_t, int> descents_;  // that ended, by branch
};

}  // namespace detol::inline search
