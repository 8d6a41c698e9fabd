#pragma once

// SourceModels: what earlier studies predict about points of a new space: a Gaussian process of
// each source and objective, over the choices that both spaces have. Losses are standardised and
// nearly normal (surrogate/transform.h), so that sources of different units compare. Immutable;
// safe to share between threads.
//
// A model that predicts its own source badly, when a fifth of the trials is left out in turn, is
// trusted less.
//
// A source's predictions are combined with weights, by which a source counts as far as it has
// ranked the new study's own trials as they turned out (source_weights()), after the
// ranking-weighted ensemble (RGPE; Feurer, Letham and Bakshy, 2018, "Scalable Meta-Learning for
// Bayesian Optimization using Ranking-Weighted Gaussian Process Ensembles", arXiv 1802.02219).

#include <memory>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/sources.h"
#include "surrogate/lazy_gp.h"

namespace detol::inline search {

class SourceModels {
 public:
  // Fits all models: a second or two for a source of a thousand trials or more.
  // REQUIRES: a source or more, each with `objectives` losses a trial.
  SourceModels(const Space& space, std::span<const MappedSource> sources, std::size_t objectives,
               std::uint64_t seed);

  std::size_t size() const { return sources_; }

  // Returns the sources' predictions of an objective, one per source. The point's features are
  // those of the space, maybe with a fidelity. O(n d) per source of n trials.
  std::vector<double> means(std::size_t objective, const Point& point) const;

  // Returns the gradient of the weighted sum of means() by the columns of numbers.
  std::vector<double> gradient(std::size_t objective, const Point& point,
                               std::span<const double> weights) const;

 private:
  struct Model {
    std::vector<bool> shared;                    // by domain
    std::shared_ptr<const GraphFeatures> graph;  // of all points, if the source's graphs differ
    LazyGp process;
    double reliability = 1;  // factor of the process's deviations from its mean
  };
  Model fitted(const MappedSource& source, std::size_t objective, Rng rng) const;
  Point seen_by(const Model& model, const Point& point) const;

  Features features_;
  std::vector<std::string> names_;  // of the domains
  std::size_t sources_;
  std::vector<std::vector<Model>> models_;  // by objective and source
};

// Returns the weight of each source, none below 0, for a sum that predicts the outcomes `y` (about
// standardised, smaller is better) of the new study's own trials; `means` is row-major, a row per
// trial, a column per source. O(n^2) per source.
std::vector<double> source_weights(std::span<const double> y, std::span<const double> means,
                                   std::size_t sources, Rng rng);

}  // namespace detol::inline search
