#pragma once

// GpModel: what the searcher `gp` believes: a lazy Gaussian process for each output (the
// objectives, and the logarithm of the work), all of the same observations. Outcomes are kept as
// they were told and transformed on their way in; kernels' parameters and transforms change
// together, at a refit. Its state is a function of the observations in their order and of the last
// refit. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rng.h"
#include "surrogate/lazy_gp.h"
#include "surrogate/transform.h"

namespace detol {

// Parameters of one output.
struct OutputFit {
  KernelParameters kernel;
  OutcomeTransform transform;
};

// Observations as they were told.
struct Observed {
  Points points;
  std::vector<std::vector<double>> outcomes;  // per output; smaller is better
};

// The fit of every output, from the fits before. Pure; any thread. `rng` chooses which observations
// it looks at where there are more than a fit can afford. REQUIRES: two observations or more.
std::vector<OutputFit> refit(const Features& features, const Observed& observed,
                             std::span<const OutputFit> before, Rng rng);

// The processes that these fits make of the first observations, with the candidates attached.
std::vector<LazyGp> processes_of(const Features& features, const Observed& observed,
                                 std::size_t observations, std::span<const OutputFit> fits,
                                 const Points& candidates);

std::vector<double> to_numbers(std::span<const OutputFit> fits);
std::vector<OutputFit> fits_from(std::span<const double> numbers, const Features& features);

class GpModel {
 public:
  GpModel(std::shared_ptr<const Features> features, std::size_t outputs, Points candidates);

  std::size_t size() const { return observed_.points.size(); }  // observations
  const Observed& observed() const { return observed_; }
  const std::vector<OutputFit>& fits() const { return fits_; }
  std::size_t fitted_at() const { return fitted_at_; }  // observations at the last refit
  const LazyGp& output(std::size_t i) const { return processes_[i]; }

  void append(const Point& x, std::span<const double> outcomes);
  void correct(std::size_t observation, std::span<const double> outcomes);

  // Uses these fits, which were made of the first `observations`, and the processes_of() them,
  // maybe before outcomes were corrected; if those are not given it makes them: O(n^3).
  void use(std::vector<OutputFit> fits, std::size_t observations,
           std::vector<LazyGp> processes = {});

  // Appends beliefs: points whose outcome is taken for the posterior mean. Dropped by the next
  // call, with however many, and by every change.
  void believe(std::span<const Point> pending);

  // The mean square of the innovations since the last refit, over all objectives: 1 where the
  // model is right. 1 if there are none.
  double surprise();

  const Points& candidates() const { return candidates_; }

 private:
  void drop_beliefs();

  std::shared_ptr<const Features> features_;
  Points candidates_;
  Observed observed_;
  std::vector<OutputFit> fits_;
  std::vector<LazyGp> processes_;
  std::size_t fitted_at_ = 0;
};

}  // namespace detol
