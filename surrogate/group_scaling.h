#pragma once

// GroupScaling: how the time of training depends on the ranks of a group, learned from measured
// times. The wall time T of training with work w and batch size b on g ranks is modelled as
//
//   log T = c + a log w - d log b - s log g
//
// by Bayesian linear regression with Gaussian priors, so that the exponents are the priors' (a = 1,
// d = 0.05, s = 0.9) until works, batches and sizes were compared. Strong scaling keeps the batch
// of the group, weak scaling that of each rank. A value: safe to read from several threads.

#include <set>
#include <span>

namespace detol::inline surrogate {

// MeasuredTime is that of a stretch of training.
struct MeasuredTime {
  double work = 0;   // forward FLOPs x images; positive
  double batch = 1;  // of the whole group
  int ranks = 1;
  double wall_s = 0;  // positive
};

class GroupScaling {
 public:
  explicit GroupScaling(std::span<const MeasuredTime> times);

  // Returns the sizes of groups that were measured.
  const std::set<int>& sizes() const { return sizes_; }

  // Returns the wall seconds of a stretch of that work at the typical batch size. REQUIRES: sizes()
  // is not empty, work > 0.
  double wall_s(double work, int ranks) const;

  // Returns how many times as fast as one rank a group is.
  double speed(int ranks) const { return ranks * strong_efficiency(ranks); }

  // Return the share of its ranks' time that a group uses, in comparison with one rank.
  double strong_efficiency(int ranks) const;
  double weak_efficiency(int ranks) const;

 private:
  std::set<int> sizes_;
  double log_c_ = 0, work_exponent_ = 1, batch_exponent_ = 0, rank_exponent_ = 1;
  double log_work_ = 0, log_batch_ = 0;  // means
};

}  // namespace detol::inline surrogate
