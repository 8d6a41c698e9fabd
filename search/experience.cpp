#include "search/experience.h"

#include <numeric>

#include "core/hash.h"
#include "search/perturb.h"
#include "search/sources.h"

namespace detol::inline search {
namespace {

constexpr int kMostSamples = 20;         // sequences spent on one proposal to find a new one
constexpr std::size_t kBestTrials = 50;  // of a source, that are replayed

}  // namespace

std::optional<std::size_t> Experience::tell(const Trial& trial, const Outcome& outcome) {
  const RankedLoss loss = ranked_loss(outcome, direction_);
  const auto [place, is_new] = places_.try_emplace(trial.id, episodes_.size());
  if (is_new) {
    episodes_.push_back({space_.identity(trial.genome), decisions_.read(trial.genome), loss});
    known_.insert(episodes_.back().identity);
    return std::nullopt;
  }
  Episode& earlier = episodes_[place->second];
  if (earlier.loss == loss) return std::nullopt;
  earlier.loss = loss;
  return place->second;
}

std::vector<Episode> Experience::of_sources(const SearcherSettings& settings) const {
  std::vector<Episode> episodes;
  Rng rng = Rng(settings.seed).split(hash64("episodes of sources"));
  for (const MappedSource& source : mapped_sources(space_, settings)) {
    const std::size_t count = source.trials.size();
    std::vector<std::size_t> places(count);
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (count > 2 * kBestTrials) {
      rng.shuffle(std::span(places).subspan(kBestTrials));
      places.resize(2 * kBestTrials);
    }
    for (std::size_t place : places) {
      const Genome& genome = source.trials[place].genome;
      episodes.push_back(
          {space_.identity(genome),
           decisions_.read(genome),
           {.violation = 0, .loss = static_cast<double>(place) / static_cast<double>(count)}});
    }
  }
  rng.shuffle(std::span(episodes));
  return episodes;
}

Genome Experience::unseen(const std::function<Genome()>& sample, Rng& rng) const {
  Genome genome = sample();
  for (int i = 0; i < kMostSamples && is_known(genome); ++i) genome = sample();
  return mutated_until_unseen(space_, std::move(genome), known_, rng);
}

}  // namespace detol::inline search
