#pragma once

// GroupScaling: how the time of training depends on the ranks of a group, learned from measured
// times. The wall time T of training with work w and batch size b on g ranks is modelled as
//
//   log T = c + a log w - d log b - s log g
//
// by Bayesian linear regression with Gaussian priors, so that the exponents are the priors' (a = 1,
// d = 0.05, s = 0.9) until works, batches and sizes were compared: of one size alone, what is said
// of others is a guess (has_compared()). Strong scaling keeps the batch of the group, weak scaling
// that of each rank. A value: safe to read from several threads.

#include <map>
#include <span>

namespace detol::inline surrogate {

// MeasuredTime is that of a stretch of training. Stretches of one network are as fast as each
// other, so that two of them say no more than one.
struct MeasuredTime {
  double work = 0;   // forward FLOPs x images; positive
  double batch = 1;  // of the whole group
  int ranks = 1;
  double wall_s = 0;  // positive
};

// Efficiency is the share of its ranks' time that a group uses, in comparison with one rank, with
// the interval that holds it with a probability of 95 %.
struct Efficiency {
  double mean = 1;
  double low = 1, high = 1;
};

class GroupScaling {
 public:
  explicit GroupScaling(std::span<const MeasuredTime> times);

  // Returns how many times were measured of each size of groups.
  const std::map<int, int>& sizes() const { return sizes_; }

  // Returns whether sizes were compared, so that what is said of them was measured.
  bool has_compared() const { return sizes_.size() > 1; }

  // Returns the wall seconds of a stretch of that work at the typical batch size. REQUIRES: sizes()
  // is not empty, work > 0.
  double wall_s(double work, int ranks) const;

  // Returns how many times as fast as one rank a group is.
  double speed(int ranks) const { return ranks * strong_efficiency(ranks).mean; }

  Efficiency strong_efficiency(int ranks) const;
  Efficiency weak_efficiency(int ranks) const;

 private:
  // Exponent of the ranks in a speed.
  struct Exponent {
    double mean = 1, deviation = 0;
  };
  static Efficiency efficiency(int ranks, Exponent exponent);

  std::map<int, int> sizes_;
  double log_c_ = 0, work_exponent_ = 1;
  Exponent strong_, weak_;
  double log_work_ = 0, log_batch_ = 0;  // means
};

}  // namespace detol::inline surrogate
