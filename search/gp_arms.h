#pragma once

// The two arms of the searcher `gp`: `global` looks everywhere, `region` in a trust region around
// the best, wider after successes and narrower after failures (TuRBO; Eriksson et al., 2019,
// "Scalable Global Optimization via Local Bayesian Optimization", NeurIPS, arXiv 1910.01739). An
// arm is drawn in proportion to how often its recent trials improved on the best. Value types.

#include <cstddef>
#include <limits>
#include <string_view>

namespace detol::inline search {

// Names of the arms as proposers of trials; the ledger stores them.
inline constexpr std::string_view kGlobalArm = "gp global", kRegionArm = "gp region";

class GpArms {
 public:
  // `share` is the region's share of the proposals before any outcome is told.
  // REQUIRES: dimensions > 0.
  GpArms(std::size_t dimensions, double share);

  // Records an outcome, smaller is better, of a trial that either arm or another proposer made.
  void tell(std::string_view proposer, double outcome);

  double share_of_region() const;  // the region's share of the next proposals

  // Returns the width of the region in the unit cube, for a choice of average length scale.
  double side() const { return side_; }

 private:
  struct Credit {
    double successes, trials;  // recent ones count more
    double rate() const { return successes / trials; }
  };
  void tell_region(bool is_success);

  double prior_;
  Credit global_, region_;
  int patience_;  // failures in a row after which the region is narrowed
  double side_;
  double best_ = std::numeric_limits<double>::infinity();
  int in_success_ = 0, in_failure_ = 0;  // the region's successes, or failures, in a row
};

}  // namespace detol::inline search
