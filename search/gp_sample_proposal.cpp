#include "search/gp_sample_proposal.h"

#include <algorithm>
#include <cmath>
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
    sample_.emplace(process_, rng_.split(1));
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
    const std::vector<Prediction> at = in_.model.predict_candidates(0);
    const auto bound = [&](std::size_t i) { return at[i].mean - 2 * std::sqrt(at[i].variance); };
    for (std::size_t i : least(at.size(), scaled(kEverywhere), bound))
      genomes.push_back(in_.candidates[i]);
    const std::vector<double>& outcomes = in_.model.observed().outcomes[0];
    const std::vector<std::size_t> best =
        least(outcomes.size(), kSampleIncumbents, [&](std::size_t i) { return outcomes[i]; });
    for (std::size_t i = 0; i < scaled(kNearBest); ++i) {
      const Genome& origin = in_.genomes[best[rng_.below(best.size())]];
      const Genome& other = in_.genomes[best[rng_.below(best.size())]];
      genomes.push_back(i % 8 == 7 ? in_.space.crossover(origin, other, rng_)
                                   : perturbed(in_.space, origin, rng_));
    }
    return genomes;
  }

  // Evaluates the sample at the genomes that are not taken, and keeps the lowest so far.
  void consider(std::vector<Genome> genomes) {
    std::erase_if(genomes, [&](const Genome& genome) {
      return in_.taken.contains(in_.space.identity(genome));
    });
    if (genomes.empty()) return;
    Points points = in_.features.empty_points();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    std::vector<double> values =
        sample_ ? sample_->values(points) : sample_at(process_, points, rng_.split(1));
    const std::vector<double> means = in_.model.prior_means(0, points);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += means[i];
    for (std::size_t i = 0; i < genomes.size(); ++i) {
      if (genome_ && !(values[i] < value_)) continue;
      value_ = values[i];
      genome_ = std::move(genomes[i]);
    }
  }

  // Returns the lowest genome so far; a fresh draw if all were taken.
  Genome lowest() {
    if (!genome_) genome_ = in_.space.sample(rng_);
    return *genome_;
  }

  const ProposalInput& in_;
  const LazyGp& process_;
  Rng rng_;
  std::optional<PathwiseSample> sample_;
  std::optional<Genome> genome_;  // the lowest so far
  double value_ = 0;
};

}  // namespace

Genome propose_by_sample(const ProposalInput& input, Rng rng) {
  return SampleProposal(input, rng)();
}

}  // namespace detol::inline search
