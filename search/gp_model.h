#pragma once

// GpModel: what the searcher `gp` believes: a lazy Gaussian process for each output (the
// objectives, and the logarithm of the work), all of the same observations. Outcomes are kept as
// they were told and transformed on their way in; kernels' parameters and transforms change
// together, at a refit. Its state is a function of the observations in their order and of the last
// refit. Not thread-safe.
//
// It keeps all observations, but its processes hold some of them, so that nothing grows without
// end: at most kMostMembers that a refit chooses (the best, the latest, others at random), and the
// next kMostAppended after it. What is left out is in near(), a small model of one neighbourhood.
// Processes are brought up to date when they are looked at: to observe costs nothing, and a replay
// of many observations and refits makes the processes of the last one alone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// What a refit decides.
struct ModelFit {
  std::vector<OutputFit> outputs;
  std::size_t observations = 0;      // there were then
  std::vector<std::size_t> members;  // those that the processes begin with, ascending
};

// Observations as they were told.
struct Observed {
  Points points;
  std::vector<std::vector<double>> outcomes;  // per output; smaller is better
  std::size_t objectives = 0;  // the outputs behind them are logarithms of work, not transformed

  std::size_t size() const { return points.size(); }
};

// The fit of every output, from the fits before. Pure; any thread. `rng` chooses which observations
// it looks at, and which are members, where there are more than can be afforded.
// REQUIRES: two observations or more.
ModelFit refit(const Features& features, const Observed& observed,
               std::span<const OutputFit> before, Rng rng);

// The processes of a fit's members, with the candidates attached. O(n^3) for n members.
std::vector<LazyGp> processes_of(const Features& features, const Observed& observed,
                                 const ModelFit& fit, const Points& candidates);

// As a list of numbers, for the ledger, and back: a few dozen, and the members where they are not
// all. Nullopt if they are not of a fit of so many outputs and observations.
std::vector<double> to_numbers(const ModelFit& fit);
std::optional<ModelFit> fit_from(std::span<const double> numbers, const Features& features,
                                 std::size_t outputs, std::size_t observations);

// A pending trial: `key` says which.
struct Pending {
  std::uint64_t key = 0;
  const Point* point = nullptr;
};

class GpModel {
 public:
  static constexpr std::size_t kMostMembers = 2048;
  static constexpr std::size_t kMostAppended = 1024;  // after a refit; what comes then waits

  GpModel(std::shared_ptr<const Features> features, std::size_t outputs, std::size_t objectives,
          Points candidates);

  std::size_t size() const { return observed_.size(); }  // observations
  const Observed& observed() const { return observed_; }
  const std::vector<OutputFit>& fits() const { return fit_.outputs; }
  std::size_t fitted_at() const { return fit_.observations; }  // at the last refit; 0: never

  void append(const Point& x, std::span<const double> outcomes);
  void correct(std::size_t observation, std::span<const double> outcomes);

  // Uses this fit, and the processes_of() it, maybe before outcomes were corrected; if those are
  // not given they are made when they are needed. REQUIRES: fit.observations <= size().
  void use(ModelFit fit, std::vector<LazyGp> processes = {});

  // Brings the processes up to date, and appends beliefs: points whose outcome is taken for the
  // posterior mean. Those that are there already, in this order, cost nothing.
  // REQUIRES: fitted_at() > 0.
  void believe(std::span<const Pending> pending);

  // Of members and beliefs, at the last believe().
  const LazyGp& output(std::size_t i) const { return processes_[i]; }

  // An output's process of those of its rows and of all observations that are most like x, `count`
  // at most: what they say there is nearly what all would say. O(n + count^3).
  LazyGp near(std::size_t output, const Point& x, std::size_t count) const;

  // The mean square of the innovations since the last refit, over all objectives: 1 where the
  // model is right. 1 if there are none.
  double surprise();

  const Points& candidates() const { return candidates_; }

 private:
  void catch_up();
  void drop_beliefs(std::size_t left = 0);  // but the first

  std::shared_ptr<const Features> features_;
  Points candidates_;
  Observed observed_;
  ModelFit fit_;
  std::vector<LazyGp> processes_;       // none: to be made
  std::vector<std::size_t> members_;    // the observations that they hold, ascending
  std::vector<std::uint64_t> beliefs_;  // keys of those that they hold after them
  std::optional<double> surprise_;      // if it is known
};

}  // namespace detol
