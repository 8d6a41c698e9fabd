#pragma once

// The arms of the searcher `gp`:
//
//   global    looks everywhere
//   region    a trust region around the best, the leader, wider after successes and narrower after
//             failures (TuRBO; Eriksson et al., 2019, "Scalable Global Optimization via Local
//             Bayesian Optimization", NeurIPS, arXiv 1910.01739)
//   restart   a second trust region, around the best observation of a basin (basins.h) that was not
//             descended yet; it ends when it fails to close its gap to the leader, and becomes the
//             leader when it does
//
// `global` and `region` are drawn in proportion to how often their recent trials improved on the
// best. `restart` gets half of the proposals while the leader is stalled: its region was halved
// kStalled times since anything improved. So a search that polishes a local optimum looks for
// another one; Hartmann6 stayed in its second optimum in 13 of 30 runs of 200 evaluations without
// restarts, and in 1 of 40 with them. In a space with branches every branch is owed one descent
// from the start, as a few points say little about the optimum of a branch.

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "encodings/space/space.h"
#include "search/basins.h"

namespace detol::inline search {

// Names of the arms as proposers of trials; the ledger stores them.
inline constexpr std::string_view kGlobalArm = "gp global", kRegionArm = "gp region",
                                  kRestartArm = "gp restart";

// TrustRegion: the state of a region. `side` is its width in the unit cube, for a choice of average
// length scale.
struct TrustRegion {
  std::size_t centre = 0;  // the best observation in it
  double best = std::numeric_limits<double>::infinity();
  double side = 0.8;
  int in_success = 0, in_failure = 0;  // its trials in a row
  int halvings = 0;  // of the leader: since anything improved on it; of a restart: since it began
};

class GpArms {
 public:
  // `share` is the region's share of the proposals before any outcome is told. `space` outlives
  // this object.
  GpArms(const Space& space, double share);

  // Records an outcome, smaller is better, of a trial that an arm or another proposer made.
  // Observations are numbered in the order of the calls.
  void tell(std::string_view proposer, const Genome& genome, double outcome);

  // Shares of the next proposals; what they leave is the global arm's.
  struct Shares {
    double region = 0, restart = 0;
  };
  Shares shares(bool may_restart = true) const;

  bool is_stalled() const;  // the leader no longer improves, or a branch is owed a descent
  const TrustRegion& region() const { return region_; }
  const std::optional<TrustRegion>& restart() const { return restart_; }
  const Branches& branches() const { return branches_; }

 private:
  struct Observation {
    Genome genome;
    double outcome;
    bool is_exhausted;  // a descent ended here
  };
  struct Credit {
    double successes, trials;  // recent ones count more
    double rate() const { return successes / trials; }
  };

  void tell_restart(std::size_t observation);
  void lead(std::size_t observation, bool by_restart);
  void resize(TrustRegion& region, bool is_success) const;
  void end_descent(std::size_t centre);
  std::optional<TrustRegion> next_restart();
  bool is_peak(std::size_t observation) const;
  bool is_near(std::size_t a, std::size_t b) const;
  int descents_in_branch_of(std::size_t observation) const;

  const Space& space_;
  Branches branches_;
  double prior_;
  Credit global_, local_;
  TrustRegion region_;                  // the leader's
  std::optional<TrustRegion> restart_;  // nullopt: nowhere to begin
  bool is_owed_ = false;                // the restart is the first descent in its branch
  std::vector<Observation> observations_;
  std::map<std::uint64_t, int> descents_;  // that ended, by branch
};

}  // namespace detol::inline search
