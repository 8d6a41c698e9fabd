#pragma once

// GpCriterion: the acquisition function of the searcher `gp`, given the posteriors of a model's
// outputs at a point.
//
//   improvement  the logarithm of the expected improvement on the best, with several objectives
//                that of the expected hypervolume improvement on the front, below the objectives'
//                references
//   per_work     the same, minus the expected logarithm of the trial's work
//   bound        the lower confidence bound of the first objective
//   auto         improvement; one of the arms takes the bound (gp_arms.h)
//
// With constraints, plus the logarithm of the probability that each is kept, and improvement is on
// the best observations that keep all (Gardner, Kusner, Xu, Weinberger and Cunningham, 2014,
// "Bayesian Optimization with Inequality Constraints", ICML; Gelbart, Snoek and Adams, 2014,
// "Bayesian Optimization with Unknown Constraints", UAI, arXiv 1403.5607). While none does, that
// logarithm alone.
//
// Values are in the units of the model's transformed outcomes. Immutable.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "search/gp_model.h"
#include "surrogate/hypervolume_improvement.h"

namespace detol::inline search {

enum class GpAcquisition { kAuto, kImprovement, kPerWork, kBound, kThompson };

// Reads "auto", "ei", "ei_per_work", "ucb" or "thompson"; nullopt for another word.
std::optional<GpAcquisition> acquisition_from(std::string_view word);

// Returns the objectives whose front a proposal extends: all, or where there are more than five
// three that are drawn at random. A front of ten objectives holds nearly all observations, and the
// region beside it needs thousands of boxes, which cost seconds; what no other dominates in three
// objectives is on the front of all, and every objective has its turn.
std::vector<std::size_t> objectives_to_improve(std::size_t objectives, Rng rng);

class GpCriterion {
 public:
  // Of several objectives those of `improved` count; none: all. Improvement is on `reference`, in
  // units of the transformed outcomes: least_smoothed() if it is not given. REQUIRES:
  // model.fantasize() was called since the last append() (its processes are up to date).
  GpCriterion(const GpModel& model, GpAcquisition acquisition,
              std::optional<double> reference = std::nullopt,
              std::vector<std::size_t> improved = {});

  // `at` has one prediction per output of the model.
  struct Value {
    double value = 0;
    std::vector<double> by_mean, by_variance;  // its derivatives, one per output
  };
  Value operator()(std::span<const Prediction> at) const;

  // Returns the probability that all constraints are kept; nullopt if there are none.
  std::optional<double> feasibility(std::span<const Prediction> at) const;

 private:
  void add_improvement(std::span<const Prediction> at, Value& value) const;
  void add_feasibility(std::span<const Prediction> at, Value& value) const;
  std::vector<Prediction> floored(std::span<const Prediction> at) const;
  Value nothing() const;

  GpAcquisition acquisition_;
  std::size_t objectives_;
  std::vector<std::size_t> improved_;   // objectives
  std::vector<double> least_variance_;  // of each output, so that logarithms stay finite
  std::size_t first_constraint_;
  std::vector<double> bounds_;                   // of the constraints
  std::optional<double> reference_;              // nullopt: nothing keeps the constraints
  std::optional<HypervolumeImprovement> front_;  // nullopt: there is one objective
};

}  // namespace detol::inline search
