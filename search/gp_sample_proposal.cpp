#include "search/gp_sample_proposal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "search/perturb.h"
#include "surrogate/pathwise.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kEverywhere = 64;  // candidates of the least confidence bound
constexpr std::size_t kNearBest = 64;    // perturbations of the best observations
constexpr std::size_t kSampleIncumbents = 10;
constexpr std::size_t kNearLowest = 32;  // perturbations of the lowest of all these
constexpr double kJointWork = 1e8;       // multiply-adds of a joint sample

// Returns the first `count` of the numbers below `of`, in the order of their keys.
template <typename Key>
std::vector<std::size_t> least(std::size_t of, std::size_t count, Key key) {
  std::vector<std::size_t> order(of);
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, of);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {}, key);
  order.resize(count);
  return order;
}

class SampleProposal {
 public:
  SampleProposal(const ProposalInput& input, Rng rng)
      : in_(input), process_(input.model.output(0)), rng_(rng) {}

  Genome operator()() {
    if (!has_pathwise_samples(process_)) {
      const double n = static_cast<double>(process_.rows());
      const double share = std::clamp(kJointWork / (n * n * (kEverywhere + kNearBest)), 0.2, 1.0);
      consider(candidates(share));
      return lowest();
    }
    const Observed& observed = in_.model.observed();
    samples_.try_emplace(0, process_, rng_of(0));
    for (std::size_t i = observed.first_constraint(); i < observed.outcomes.size(); ++i)
      samples_.try_emplace(i, in_.model.output(i), rng_of(i));
    consider(candidates(1));
    std::vector<Genome> nearer;
    const Genome origin = lowest();
    for (std::size_t i = 0; i < kNearLowest; ++i)
      nearer.push_back(perturbed(in_.space, origin, rng_));
    consider(std::move(nearer));
    return lowest();
  }

 private:
  std::vector<Genome> candidates(double share) {
    const auto scaled = [&](std::size_t count) {
      return static_cast<std::size_t>(share * static_cast<double>(count));
    };
    std::vector<Genome> genomes;
    const std::vector<RankedLoss> bounds = confidence_bounds();
    for (std::size_t i :
         least(bounds.size(), scaled(kEverywhere), [&](auto j) { return bounds[j]; }))
      genomes.push_back(in_.candidates[i]);
    const std::vector<std::size_t> best = in_.model.observed().best(kSampleIncumbents);
    for (std::size_t i = 0; i < scaled(kNearBest); ++i) {
      const Genome& origin = in_.genomes[best[rng_.below(best.size())]];
      const Genome& other = in_.genomes[best[rng_.below(best.size())]];
      genomes.push_back(i % 8 == 7 ? in_.space.crossover(origin, other, rng_)
                                   : perturbed(in_.space, origin, rng_));
    }
    return genomes;
  }

  // Returns the lower confidence bound of each candidate's loss and violation.
  std::vector<RankedLoss> confidence_bounds() const {
    std::vector<RankedLoss> bounds;
    const auto bound = [](const Prediction& at) { return at.mean - 2 * std::sqrt(at.variance); };
    for (const Prediction& at : in_.model.predict_candidates(0))
      bounds.push_back({.violation = 0, .loss = bound(at)});
    const Observed& observed = in_.model.observed();
    for (std::size_t i = observed.first_constraint(); i < observed.outcomes.size(); ++i) {
      const std::vector<Prediction> at = in_.model.predict_candidates(i);
      for (std::size_t j = 0; j < at.size(); ++j)
        bounds[j].violation += std::max(0.0, bound(at[j]) - in_.model.bound(i));
    }
    return bounds;
  }

  // Evaluates the sample at the genomes that are not taken, and keeps the lowest so far.
  void consider(std::vector<Genome> genomes) {
    std::erase_if(genomes, [&](const Genome& genome) {
      return in_.taken.contains(in_.space.identity(genome));
    });
    in_.failures.drop_likely(genomes, rng_);
    if (genomes.empty()) return;
    Points points = in_.features.empty_points();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    const std::vector<RankedLoss> losses = sampled_losses(in_.model, points, [&](std::size_t i) {
      return samples_.empty() ? sample_at(in_.model.output(i), points, rng_of(i))
                              : samples_.at(i).values(points);
    });
    for (std::size_t i = 0; i < genomes.size(); ++i) {
      if (genome_ && !(losses[i] < loss_)) continue;
      loss_ = losses[i];
      genome_ = std::move(genomes[i]);
    }
  }

  // Returns the random stream of an output's draw.
  Rng rng_of(std::size_t output) const {
    return output == 0 ? rng_.split(1) : rng_.split(1).split(output);
  }

  // Returns the lowest genome so far; a fresh draw if all were taken.
  Genome lowest() {
    if (!genome_) genome_ = in_.space.sample(rng_);
    return *genome_;
  }

  const ProposalInput& in_;
  const LazyGp& process_;
  Rng rng_;
  std::map<std::size_t, PathwiseSample> samples_;  // by output; empty: samples are joint
  std::optional<Genome> genome_;                   // the lowest so far
  RankedLoss loss_ = {};
};

}  // namespace

std::vector<RankedLoss> sampled_losses(
    const GpModel& model, const Points& points,
    const std::function<std::vector<double>(std::size_t output)>& sample) {
  const std::vector<double> values = sample(0), means = model.prior_means(0, points);
  std::vector<RankedLoss> losses;
  for (std::size_t i = 0; i < values.size(); ++i)
    losses.push_back({.violation = 0, .loss = values[i] + means[i]});
  const Observed& observed = model.observed();
  for (std::size_t output = observed.first_constraint(); output < observed.outcomes.size();
       ++output) {
    const std::vector<double> drawn = sample(output);
    for (std::size_t i = 0; i < losses.size(); ++i)
      losses[i].violation += std::max(0.0, drawn[i] - model.bound(output));
  }
  return losses;
}

Genome propose_by_sample(const ProposalInput& input, Rng rng) {
  return SampleProposal(input, rng)();
}

}  // namespace detol::inline search
