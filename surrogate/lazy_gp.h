#pragma once

// LazyGp: a Gaussian process whose observations are appended and dropped one by one. An observation
// is a row of the Cholesky factor (O(n^2)) instead of a new factorisation (O(n^3)): Ram, Mueller,
// Pfreundt, Gauger and Keuper, 2019, MLHPC@SC19, arXiv 2001.05726. The kernel's parameters never
// change; other parameters need a new process.
//
// With z = L^-1 y and o = L^-1 1 kept beside the factor, the mean needs no backward solve:
//
//   m = z.o / o.o                     the generalised least squares mean
//   mean(x) = m + v.(z - m o)         with v = L^-1 k(X, x)
//   variance(x) = k(x, x) - v.v       of the function, without noise
//
// An observation that is a copy of others to working precision (Cholesky::kLeastPivot) is merged:
// the outcome of the point most like it becomes the mean of both. So observations() >= rows().
// Fantasies for pending trials are appended, and dropped again by truncate().
//
// A set of candidates may be attached, whose posterior is kept up to date (candidate_pool.h).
// Not thread-safe; predict() and gradients only read.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "surrogate/candidate_pool.h"
#include "surrogate/cholesky.h"
#include "surrogate/kernel.h"

namespace detol::inline surrogate {

struct Prediction {
  double mean = 0;
  double variance = 0;  // of the function, without noise; at least 0
};

class LazyGp {
 public:
  LazyGp(const Features& features, KernelParameters parameters);

  // Takes all observations at once, O(n^3 / 3); appends them one by one where the factorisation
  // finds copies.
  LazyGp(const Features& features, KernelParameters parameters, const Points& points,
         std::span<const double> y);

  const Kernel& kernel() const { return kernel_; }
  const Points& points() const { return points_; }  // of the rows
  std::size_t observations() const { return entries_.size(); }
  std::size_t rows() const { return points_.size(); }
  std::size_t measured() const { return measured_; }       // rows before the fantasies
  double mean() const { return mean_; }                    // m
  std::span<const double> outcomes() const { return y_; }  // of the rows
  std::size_t row_of(std::size_t observation) const { return entries_[observation].row; }

  // Begun: what a fantasy at a point needs of the rows before all fantasies. Empty: none of it.
  struct Begun {
    std::vector<double> row;              // of the factor
    std::vector<double> with_candidates;  // k(x, C) less what the first rows explain
    std::size_t explained = 0;            // how many of them
  };

  // Appends an observation. `begun` is of a fantasy that was at x: with it the row costs what those
  // of the measured rows cost that came since. REQUIRES: no fantasies; `begun` as below.
  void append(const Point& x, double y) { append(x, y, {}); }
  void append(const Point& x, double y, Begun begun);

  // Appends x with the posterior mean for its outcome (kriging believer); no row if x is a copy.
  // `begun` is kept by the caller, for fantasies at x alone: with it the next one at x costs
  // O(n f) beside f others, and not O(n^2); no bit depends on it. The candidates learn of it by
  // update_candidates().
  // REQUIRES: `begun` is empty, or of this process with these candidates, whose first rows,
  // begun.row.size() of them, were not dropped since.
  void append_fantasy(const Point& x, Begun& begun);
  void truncate(std::size_t observations);          // drops the last
  void replace(std::size_t observation, double y);  // corrects an outcome; O(n^2)
  void replace_all(std::span<const double> y);      // of all observations; O(n^2)

  // Returns the innovations of the rows that came with observation number `from` or later, each
  // given those before it: (y - mean) / deviation of a noisy measurement. Standard normal where the
  // model is right.
  std::vector<double> innovations(std::size_t from) const;

  // Returns the posterior mean at every row's own point: y - noise weights. O(n) after weights().
  std::vector<double> smoothed() const;

  Prediction predict(const Point& x) const;
  std::vector<Prediction> predict(const Points& points) const;

  // Returns the posterior means alone. O(n) each, after weights().
  std::vector<double> means(const Points& points) const;

  // Slope: the posterior at x and the gradients of its mean and variance by the columns of numbers.
  struct Slope {
    Prediction at;
    std::vector<double> mean, variance;
  };
  Slope slope(const Point& x) const;

  // Returns one number per row: L^-T (z - m o), so that mean(x) = m + k(x, X).weights. Valid until
  // a change.
  std::span<const double> weights() const;

  double log_likelihood() const;

  void attach(Points candidates);  // O(n^2 m)
  const Points& candidates() const { return candidates_; }

  // Brings the candidates' posterior up to date with a fantasy, O(m f) with the `begun` of its last
  // time. REQUIRES: it was called for the fantasies before, in their order.
  void update_candidates(std::size_t observation, Begun& begun);

  // O(m). REQUIRES: update_candidates() was called for every fantasy.
  std::vector<Prediction> predict_candidates() const;

  std::size_t bytes() const;

  const Cholesky& factor() const { return factor_; }

 private:
  struct Entry {
    std::size_t row = 0;
    double y = 0;
    bool is_merged = false;  // into an earlier row
  };

  double noisy_variance() const { return kernel_.variance() + kernel_.parameters().noise; }
  bool append_row(const Point& x, double y, Begun& begun);
  bool append_to_factor(const Point& x, std::span<const double> begun = {});
  void append_outcome(const Point& x, double y);       // after append_to_factor()
  void append_to_pool(std::size_t row, Begun& begun);  // after append_outcome()
  std::size_t most_alike(std::span<const double> k) const;
  double outcome_of(std::size_t row) const;  // the mean of its observations
  void outcomes_changed();
  void update_mean();

  Kernel kernel_;
  Points points_;
  Cholesky factor_;
  std::vector<Entry> entries_;
  std::size_t measured_ = 0;  // rows before the fantasies
  std::vector<double> y_, z_, o_;
  double mean_ = 0;                      // m: fantasies, at the posterior mean, do not change it
  mutable std::vector<double> weights_;  // empty: not computed
  Points candidates_;
  std::optional<CandidatePool> pool_;
};

}  // namespace detol::inline surrogate
