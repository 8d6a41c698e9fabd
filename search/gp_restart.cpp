#include "search/gp_restart.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "surrogate/fit.h"

namespace detol::inline search {
namespace {

// Observations of a fit and of a model: an ask waits for both.
constexpr std::size_t kMostRestartFitted = 128;
constexpr std::size_t kMostRestartMembers = 256;

// Returns which of the first `count` observations do not lie in the leader's core.
std::vector<std::size_t> outside_of_core(const ProposalInput& input, std::size_t count) {
  const std::size_t leader = input.restart->leader;
  std::vector<std::size_t> outside;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == leader ||
        !is_within(kCoreRadius, input.space, input.genomes[i], input.genomes[leader]))
      outside.push_back(i);
  }
  return outside;
}

// Keeps the observations most like the restart's centre, and the leader.
void limit_to_nearest(const ProposalInput& input, std::vector<std::size_t>& observations) {
  if (observations.size() <= kMostRestartMembers) return;
  const Points& points = input.model.observed().points;
  std::vector<double> likeness(points.size());
  input.model.output(0).kernel().row(points[input.restart->centre], points, likeness);
  likeness[input.restart->leader] = std::numeric_limits<double>::infinity();
  const auto end = observations.begin() + static_cast<std::ptrdiff_t>(kMostRestartMembers);
  std::ranges::nth_element(observations, end, std::greater<>(),
                           [&](std::size_t i) { return std::pair(likeness[i], i); });
  observations.erase(end, observations.end());
  std::ranges::sort(observations);
}

// Returns a model of these observations, without a fit.
GpModel model_of(const ProposalInput& input, std::span<const std::size_t> chosen) {
  const Observed& all = input.model.observed();
  GpModel model(input.model.features(), all.outcomes.size(), all.objectives,
                input.features.empty_points(), nullptr, all.bounds);
  for (std::size_t i : chosen) {
    std::vector<double> outcomes;
    for (const std::vector<double>& output : all.outcomes) outcomes.push_back(output[i]);
    model.append(all.points[i], outcomes);
  }
  return model;
}

}  // namespace

void GpRestartModels::learn(const ProposalInput& input) {
  const std::size_t known = input.model.fitted_at(), leader = input.restart->leader;
  if (fitted_ && fitted_->observations == known && fitted_->leader == leader) return;
  const GpModel model = model_of(input, outside_of_core(input, known));
  const Observed& observed = model.observed();
  OutputFit objective = input.model.fits().front();
  objective.weights.clear();
  if (observed.size() > 1) {
    const std::vector<std::size_t> chosen =
        observed.chosen_for_fit(0, kMostRestartFitted, Rng(observed.size()));
    double most = -std::numeric_limits<double>::infinity();
    for (const OutcomeTransform& transform : transforms_for(input.features, observed, 0)) {
      OutputFit tried{.kernel = {}, .transform = transform, .weights = {}};
      const FitResult fitted =
          fit(input.features, points_of(input.features, observed.points, chosen),
              residuals(observed, 0, tried, chosen), default_parameters(input.features));
      const double evidence = log_evidence(observed, 0, transform, fitted.log_posterior, chosen);
      if (!(evidence > most)) continue;
      most = evidence;
      tried.kernel = fitted.parameters;
      objective = std::move(tried);
    }
  }
  fitted_ = {.observations = known, .leader = leader, .objective = std::move(objective)};
}

Genome GpRestartModels::propose(const ProposalInput& input, std::span<const Pending> pending,
                                Rng rng) {
  learn(input);
  std::vector<std::size_t> chosen = outside_of_core(input, input.model.size());
  limit_to_nearest(input, chosen);
  GpModel model = model_of(input, chosen);
  std::vector<OutputFit> outputs = input.model.fits();
  outputs.front() = fitted_->objective;
  model.use({.outputs = std::move(outputs),
             .observations = chosen.size(),
             .members = indices_below(chosen.size())});
  model.fantasize(pending);
  std::vector<Genome> genomes;
  for (std::size_t i : chosen) genomes.push_back(input.genomes[i]);
  const auto place_of = [&](std::size_t i) {
    return static_cast<std::size_t>(std::ranges::lower_bound(chosen, i) - chosen.begin());
  };
  ProposalInput own{.space = input.space,
                    .features = input.features,
                    .model = model,
                    .genomes = genomes,
                    .candidates = {},
                    .taken = input.taken,
                    .failures = input.failures,
                    .acquisition = input.acquisition,
                    .side = input.side};
  own.restart.emplace(GpRestart{place_of(input.restart->centre), place_of(input.restart->leader),
                                input.restart->branches});
  return search::propose(own, rng);
}

}  // namespace detol::inline search
