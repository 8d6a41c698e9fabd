#pragma once

// GpModel: the model of the searcher `gp`, a lazy Gaussian process for each output (the objectives,
// the logarithm of the work, and what constraints are exceeded by), all of the same observations.
// Outcomes are stored as they were told and transformed when a process takes them; kernels'
// parameters and transforms change together, at a refit. Its state is a function of the
// observations in their order and of the last refit. Not thread-safe.
//
// It keeps all observations, but its processes hold some of them, so that their cost is bounded: at
// most kMostMembers that a refit chooses (the best, the latest, others at random), and the next
// kMostAppended after it. near(), a small model of one neighbourhood, uses the others, too.
// Twice as many members cost eight times as much and found little better after 3,000 trials of ten
// floats (ackley 0.002, not 0.003; rosenbrock and levy the same); half as many found less.
// Processes are updated when they are read: an append costs nothing, and a replay of many
// observations and refits computes the processes of the last refit alone.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/rng.h"
#include "search/gp_observed.h"
#include "search/source_models.h"
#include "surrogate/lazy_gp.h"
#include "surrogate/transform.h"

namespace detol::inline search {

// OutputFit: the fitted parameters of one output.
struct OutputFit {
  KernelParameters kernel;
  OutcomeTransform transform;
  std::vector<double> weights;  // of the sources' predictions; empty: there are no sources
};

// Returns the transforms that a fit chooses from by the evidence. Those of a constraint keep its
// bound at 0. Where there are sources, whose weights depend on the transform, there is one. In a
// space of networks alone, without numbers, they take half of the power, whatever the evidence is
// of the whole: the best network is found sooner so (experiments/search_quality/LOG.md).
std::vector<OutcomeTransform> transforms_for(const Features& features, const Observed& observed,
                                             std::size_t output);

// Returns the logarithm of the evidence for a fit to some observations.
double log_evidence(const Observed& observed, std::size_t output, const OutcomeTransform& transform,
                    double log_posterior, std::span<const std::size_t> chosen);

// ModelFit: the result of a refit.
struct ModelFit {
  std::vector<OutputFit> outputs;
  std::size_t observations = 0;      // known at the refit
  std::vector<std::size_t> members;  // observations that the processes begin with, ascending
};

// Return the points of some observations, and their transformed outcomes less what the sources
// predict.
Points points_of(const Features& features, const Points& points,
                 std::span<const std::size_t> chosen);
std::vector<double> residuals(const Observed& observed, std::size_t output, const OutputFit& fit,
                              std::span<const std::size_t> chosen);

// Returns an output's process of a fit's members, with the candidates attached. O(n^3) for n
// members.
LazyGp process_of(const Features& features, const Observed& observed, const ModelFit& fit,
                  std::size_t output, const Points& candidates);

// to_numbers() writes a fit as a list of numbers for the ledger: a few dozen, and the members where
// they are not all. fit_from() reads it; nullopt if the numbers are not of such a fit, as those of
// versions whose kernels have fewer parameters. REQUIRES: members by Observed::chosen_members().
std::vector<double> to_numbers(const ModelFit& fit);
std::optional<ModelFit> fit_from(std::span<const double> numbers, const Features& features,
                                 const Observed& observed, std::size_t observations);

// Pending: a pending trial, identified by `key`.
struct Pending {
  std::uint64_t key = 0;
  const Point* point = nullptr;
};

class GpModel {
 public:
  static constexpr std::size_t kMostMembers = 1024;
  static constexpr std::size_t kMostAppended = 512;  // after a refit; later ones wait for the next

  GpModel(std::shared_ptr<const Features> features, std::size_t outputs, std::size_t objectives,
          Points candidates, std::shared_ptr<const SourceModels> sources = nullptr,
          const OutputBounds& bounds = {});

  std::size_t size() const { return observed_.size(); }  // observations
  const Observed& observed() const { return observed_; }
  const std::vector<OutputFit>& fits() const { return fit_.outputs; }
  std::size_t fitted_at() const { return fit_.observations; }  // at the last refit; 0: never

  void append(const Point& x, std::span<const double> outcomes);
  void correct(std::size_t observation, std::span<const double> outcomes);

  // Uses this fit and its process_of() each output, which may have outcomes from before a
  // correct(). If no processes are given, they are made when they are needed. REQUIRES:
  // fit.observations <= size().
  void use(ModelFit fit, std::vector<LazyGp> processes = {});

  // Updates the processes and appends fantasies: pending points with the posterior mean for their
  // outcome (kriging believer). Fantasies that are there already, in this order, cost nothing.
  // REQUIRES: fitted_at() > 0.
  void fantasize(std::span<const Pending> pending);
  void update_candidates();  // with the fantasies: half of their price, which not every ask needs

  // Returns the process of members and fantasies as of the last fantasize(). With sources it is of
  // the residuals: outcomes less the weighted sum of the sources' predictions, prior_mean().
  const LazyGp& output(std::size_t i) const { return processes_[i]; }

  bool has_prior(std::size_t output) const;  // a source has weight
  double trust_in_sources() const;           // the sum of the first output's weights, 1 at most
  double prior_mean(std::size_t output, const Point& x) const;  // 0 without sources
  std::vector<double> prior_means(std::size_t output, const Points& points) const;

  // These predict transformed outcomes, by the process and the sources. `process` is output(i), or
  // near() of it.
  std::vector<Prediction> predict(std::size_t output, const Points& points) const;
  std::vector<Prediction> predict(std::size_t output, const LazyGp& process,
                                  const Points& points) const;
  std::vector<double> means(std::size_t output, const Points& points) const;  // alone, cheaper
  // REQUIRES: update_candidates() since the last fantasize().
  std::vector<Prediction> predict_candidates(std::size_t output) const;
  LazyGp::Slope slope(std::size_t output, const LazyGp& process, const Point& x) const;
  // Returns the least posterior mean of all observations and fantasies that keep the constraints;
  // nullopt if none does.
  std::optional<double> least_smoothed(std::size_t output) const;
  // Returns the transformed value up to which an output that is a constraint is kept.
  double bound(std::size_t output) const { return fit_.outputs[output].transform(0); }

  // Returns an output's process of at most `count` rows and observations, those most like x. Its
  // posterior at x is nearly that of all. O(n + count^3).
  LazyGp near(std::size_t output, const Point& x, std::size_t count) const;

  // Returns the mean square of the innovations since the last refit, over all outputs, which is
  // about 1 where the model is right; 1 if there are none.
  double surprise();

  const std::shared_ptr<const Features>& features() const { return features_; }
  const Points& candidates() const { return candidates_; }

 private:
  struct BegunFantasy {
    Point point;
    std::vector<LazyGp::Begun> begun;  // per process
  };

  bool keeps_constraints(std::size_t entry) const;  // of the processes: a member or a fantasy
  void catch_up();
  void drop_fantasies(std::size_t left = 0);              // all but the first `left`
  std::vector<LazyGp::Begun> take_begun(const Point& x);  // per process; empty if there was none

  std::shared_ptr<const Features> features_;
  std::shared_ptr<const SourceModels> sources_;  // nullptr: none
  Points candidates_;
  std::vector<std::vector<double>> candidate_means_;  // as Observed::means; empty: not computed
  Observed observed_;
  ModelFit fit_;
  std::vector<LazyGp> processes_;         // empty: not computed
  std::vector<std::size_t> members_;      // the observations that they hold, ascending
  std::vector<std::uint64_t> fantasies_;  // keys of the fantasies that they hold after members_
  std::unordered_map<std::uint64_t, BegunFantasy> begun_;  // by key
  std::optional<double> surprise_;                         // nullopt: not computed
};

}  // namespace detol::inline search
