#pragma once

// GpFailures: the chance that a trial succeeds, by a Gaussian process of what is known of earlier
// ones: -1 for a trial with an outcome, 1 for one that failed. The probability that the function,
// with its noise, is below 0 is that of a success (least-squares classification; Rasmussen and
// Williams, 2006, "Gaussian Processes for Machine Learning", section 6.5). So a network that is too
// large, or a learning rate that diverges, tells of others like it, along whatever direction the
// fit finds.
//
// The process is a function of the trials told, in their order: it is fitted at fixed numbers of
// them, from a start of its own, and holds a bounded number. Not thread-safe.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/rng.h"
#include "encodings/space/space.h"
#include "surrogate/lazy_gp.h"

namespace detol::inline search {

class GpFailures {
 public:
  // `features` outlive this.
  explicit GpFailures(const Features& features);

  void tell(const Point& x, bool has_failed);

  std::size_t failed() const { return failed_; }
  // True if trials of both kinds were told. Else nothing is known, and chances must not be asked.
  bool is_informed() const { return failed_ > 0 && failed_ < labels_.size(); }

  // Learns what was told since the last call; a new fit takes some 10 ms.
  void update();

  // Returns the probability of success. REQUIRES: as below.
  double success(const Point& x) const;

  // Chance: the logarithm of the probability of success, to the power of kCaution, and its
  // derivatives by the columns of numbers. REQUIRES: is_informed(), update() since the last tell().
  struct Chance {
    double log = 0;
    std::vector<double> slope;
  };
  double log_chance(const Point& x) const;
  Chance chance(const Point& x) const;

  // Keeps each genome with its chance, drawn by `rng`; all if !is_informed(). REQUIRES: update()
  // since the last tell().
  void drop_likely(std::vector<Genome>& genomes, Rng& rng) const;

 private:
  std::vector<std::size_t> chosen_for_fit() const;
  void fit_anew();

  const Features& features_;
  Points points_;
  std::vector<double> labels_;
  std::size_t failed_ = 0;
  std::size_t due_ = 0;            // the number of trials that the next fit knows
  std::size_t fitted_ = 0;         // the same of the last one
  std::size_t known_ = 0;          // to the process
  std::optional<LazyGp> process_;  // nullopt: there was no update
};

}  // namespace detol::inline search
