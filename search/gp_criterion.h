#pragma once

// GpCriterion: the acquisition function of the searcher `gp`, given the posteriors of a model's
// outputs at a point.
//
//   improvement  the logarithm of the expected improvement on the best, with several objectives
//                that of the expected hypervolume improvement on the front
//   per_work     the same, minus the expected logarithm of the trial's work
//   bound        the lower confidence bound of the first objective
//
// Values are in the units of the model's transformed outcomes. Immutable.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/gp_model.h"
#include "surrogate/hypervolume_improvement.h"

namespace detol::inline search {

enum class GpAcquisition { kImprovement, kPerWork, kBound, kThompson };

// Reads "ei", "ei_per_work", "ucb" or "thompson"; nullopt for another word.
std::optional<GpAcquisition> acquisition_from(std::string_view word);

class GpCriterion {
 public:
  // Improvement is on `reference`, in units of the transformed outcomes: the least posterior mean
  // of all observations if it is not given. REQUIRES: model.fantasize() was called since the last
  // append() (its processes are up to date).
  GpCriterion(const GpModel& model, GpAcquisition acquisition,
              std::optional<double> reference = std::nullopt);

  // `at` has one prediction per output of the model.
  struct Value {
    double value = 0;
    std::vector<double> by_mean, by_variance;  // its derivatives, one per output
  };
  Value operator()(std::span<const Prediction> at) const;

 private:
  GpAcquisition acquisition_;
  std::size_t objectives_;
  std::vector<double> least_variance_;  // of each output, so that logarithms stay finite
  double reference_ = 0;
  std::optional<HypervolumeImprovement> front_;  // nullopt: there is one objective
};

}  // namespace detol::inline search
