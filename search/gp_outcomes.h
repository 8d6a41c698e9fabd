#pragma once

// What the searcher `gp` keeps of the trials that it was told, and how these become numbers for its
// model and for its arms.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encodings/space/trial.h"
#include "search/gp_criterion.h"
#include "search/gp_observed.h"
#include "search/searcher.h"

namespace detol::inline search {

struct ToldTrial {
  Trial trial;
  double fidelity = 0;           // epochs; 0: unknown
  std::vector<double> outcomes;  // one per output of the model, smaller is better; empty: failed
};

// Returns true for a paused trial that is told again after more epochs: its earlier outcome remains
// a measurement of that fidelity.
bool was_resumed(const ToldTrial& before, const ToldTrial& now);

// GpOutputs: what the model predicts of a trial: the objectives, the logarithm of its work where
// the acquisition uses it, and by how much it exceeds each constraint.
class GpOutputs {
 public:
  GpOutputs(const SearcherSettings& settings, GpAcquisition acquisition)
      : objectives_(settings.objectives),
        has_work_(acquisition == GpAcquisition::kPerWork),
        constraints_(settings.constraints) {}

  std::size_t count() const { return objectives_.size() + (has_work_ ? 1 : 0) + constraints_; }
  std::size_t constraints() const { return constraints_; }
  OutputBounds bounds() const;

  // Returns one value per output; none if the trial failed.
  std::vector<double> of(const Outcome& outcome) const;

 private:
  std::vector<Objective> objectives_;
  bool has_work_;
  std::size_t constraints_;
};

// ArmLosses: the numbers by which the arms compare trials: the loss of the first objective; of a
// trial that exceeds constraints the greatest loss of those that keep them, and the violation.
class ArmLosses {
 public:
  explicit ArmLosses(std::size_t constraints) : constraints_(constraints) {}

  // Takes a trial into account. Returns true if the numbers of earlier trials changed.
  bool see(std::span<const double> outcomes);
  double operator()(std::span<const double> outcomes) const;

 private:
  std::size_t constraints_;
  std::optional<double> greatest_;  // nullopt: no trial keeps the constraints yet
  bool has_violation_ = false;
};

}  // namespace detol::inline search
