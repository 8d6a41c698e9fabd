#include "search/gp_proposal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/hash.h"
#include "search/gp_candidates.h"
#include "search/gp_climb.h"
#include "search/gp_neighbourhoods.h"
#include "search/gp_sample_proposal.h"
#include "search/gp_scorer.h"
#include "surrogate/pathwise.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kStarts = 20;        // candidates from which climbs start or one is proposed
constexpr std::size_t kPromising = 300;    // candidates whose chance of failure is computed
constexpr std::size_t kMostSampled = 300;  // candidates of a Thompson sample
constexpr std::size_t kMostScored = 16;  // candidates of a region, where their model has many rows
constexpr double kSure = 3;              // deviations that a sample's value hardly ever leaves

class Proposal {
 public:
  Proposal(const ProposalInput& input, Rng rng)
      : in_(input), scorer_(input), rng_(rng), neighbourhoods_(input) {}

  Genome operator()() {
    if (in_.acquisition == GpAcquisition::kThompson) return lowest_of_a_sample(somewhere());
    if (in_.side == 0) {
      std::vector<Scored> scored = scorer_.score_candidates();
      for (Scored& local : scorer_.score(candidates_near_best(in_, rng_)))
        scored.push_back(std::move(local));
      return best_after_climbing(std::move(scored));
    }
    region_ = region_of(in_, rng_);
    nearby_ = neighbourhoods_.around(in_.genomes[region_->centre]);
    if (in_.model.observed().objectives == 1 && rng_.chance(0.5))
      return lowest_of_a_sample(possibly_lowest(candidates_in(*region_, in_, rng_)));
    return best_after_climbing(scorer_.score(most_promising(candidates_in(*region_, in_, rng_))));
  }

 private:
  // Returns the candidates of a region that score best by the processes nearby; all if there are
  // none, or where trials fail, as the best may be those that fail.
  std::vector<Genome> most_promising(std::vector<Genome> genomes) const {
    if (nearby_.empty() || in_.failures.failed() > 0 || genomes.size() <= kMostScored)
      return genomes;
    std::vector<Scored> scored = scorer_.score(std::move(genomes), nearby_);
    std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    scored.resize(kMostScored);
    genomes.clear();
    for (Scored& each : scored) genomes.push_back(std::move(each.genome));
    return genomes;
  }

  // Returns the candidates of a region without those at which, by the process nearby, hardly any
  // sample is lowest; all if there is none, or where a constraint counts, too.
  std::vector<Genome> possibly_lowest(std::vector<Genome> genomes) const {
    if (nearby_.size() != 1) return genomes;
    Points points = in_.features.empty_points();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    const std::vector<Prediction> at = in_.model.predict(0, nearby_.front(), points);
    double least = std::numeric_limits<double>::infinity();
    for (const Prediction& each : at)
      least = std::min(least, each.mean + kSure * std::sqrt(each.variance));
    std::vector<Genome> kept;
    for (std::size_t i = 0; i < genomes.size(); ++i) {
      if (at[i].mean - kSure * std::sqrt(at[i].variance) <= least)
        kept.push_back(std::move(genomes[i]));
    }
    return kept;
  }

  Genome best_after_climbing(std::vector<Scored> scored) {
    std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    if (in_.failures.is_informed()) {
      scored.resize(std::min(scored.size(), kPromising));
      scorer_.add_chances(scored);
      std::ranges::stable_sort(scored, std::greater<>(), &Scored::value);
    }
    std::vector<Scored> starts = distinct(scored);
    GpClimber climb(in_, scorer_, neighbourhoods_, region_ ? &*region_ : nullptr, rng_);
    const std::size_t climbs = std::min(climb.affordable(), starts.size());
    for (std::size_t i = 0; i < climbs; ++i) starts.push_back(climb(starts[i]));
    std::ranges::stable_sort(starts, std::greater<>(), &Scored::value);
    for (const Scored& each : starts) {
      if (!is_taken(each.genome)) return each.genome;
    }
    return fresh_draw();
  }

  // Returns candidates of the region, or from everywhere and near the best.
  std::vector<Genome> somewhere() {
    if (in_.side > 0) {
      region_ = region_of(in_, rng_);
      return candidates_in(*region_, in_, rng_);
    }
    std::vector<Genome> genomes(in_.candidates.begin(), in_.candidates.end());
    for (Genome& local : candidates_near_best(in_, rng_)) genomes.push_back(std::move(local));
    rng_.shuffle(std::span(genomes));
    return genomes;
  }

  // Returns the candidate at which one function drawn from the posterior is lowest (Thompson
  // sampling).
  Genome lowest_of_a_sample(std::vector<Genome> genomes) {
    std::erase_if(genomes, [&](const Genome& genome) { return is_taken(genome); });
    in_.failures.drop_likely(genomes, rng_);
    if (genomes.empty()) return fresh_draw();
    if (genomes.size() > kMostSampled) genomes.resize(kMostSampled);
    Points points = in_.features.empty_points();
    for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
    const Rng rng = rng_.split(hash64("sample"));
    const std::vector<RankedLoss> losses = sampled_losses(in_.model, points, [&](std::size_t i) {
      return sample_at(in_.model.output(i), points, i == 0 ? rng : rng.split(i));
    });
    return genomes[static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin())];
  }

  // Returns true for what was proposed before, and for a restart in the leader's core.
  bool is_taken(const Genome& genome) const {
    return in_.taken.contains(in_.space.identity(genome)) ||
           (in_.restart &&
            is_within(kCoreRadius, in_.space, genome, in_.genomes[in_.restart->leader]));
  }

  Genome fresh_draw() {
    Genome genome = in_.space.sample(rng_);
    for (int i = 0; i < 20 && is_taken(genome); ++i) genome = in_.space.sample(rng_);
    return genome;
  }

  // Returns the best of the list that are not taken, each once.
  std::vector<Scored> distinct(const std::vector<Scored>& sorted) const {
    std::vector<Scored> chosen;
    std::unordered_set<std::uint64_t> seen;
    for (const Scored& each : sorted) {
      if (chosen.size() >= kStarts) break;
      if (!is_taken(each.genome) && seen.insert(in_.space.identity(each.genome)).second)
        chosen.push_back(each);
    }
    return chosen;
  }

  const ProposalInput& in_;
  const GpScorer scorer_;
  Rng rng_;
  std::optional<GpRegion> region_;
  GpNeighbourhoods neighbourhoods_;
  std::span<const LazyGp> nearby_;  // around the region's centre; none where the model is small
};

}  // namespace

Genome propose(const ProposalInput& input, Rng rng) {
  return Proposal(input, rng)();
}

}  // namespace detol::inline search
