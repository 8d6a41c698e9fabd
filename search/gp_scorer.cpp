#include "search/gp_scorer.h"

#include <algorithm>

namespace detol::inline search {
namespace {

// Deviations of the outcomes. Without it the least uncertainty beside a polished optimum outweighs
// every other place, whatever it may hold.
constexpr double kMargin = 0.1;

}  // namespace

std::optional<double> reference_of(const ProposalInput& input) {
  const std::optional<double> least = input.model.least_smoothed(0);
  if (!least) return std::nullopt;
  if (input.restart) {
    Points centre = input.features.empty_points();
    centre.push_back(input.features.of(input.genomes[input.restart->centre]));
    return std::max(*least, input.model.predict(0, centre).front().mean);
  }
  if (input.is_stalled && input.side == 0) return *least - kMargin;
  return std::nullopt;
}

std::vector<Scored> GpScorer::score_candidates() const {
  std::vector<std::vector<Prediction>> predictions;
  for (std::size_t i = 0; i < outputs(); ++i)
    predictions.push_back(in_.model.predict_candidates(i));
  return scored({in_.candidates.begin(), in_.candidates.end()}, predictions);
}

std::vector<Scored> GpScorer::score(std::vector<Genome> genomes,
                                    std::span<const LazyGp> nearby) const {
  Points points = in_.features.empty_points();
  for (const Genome& genome : genomes) points.push_back(in_.features.of(genome));
  std::vector<std::vector<Prediction>> predictions;
  for (std::size_t i = 0; i < outputs(); ++i) {
    const LazyGp& process = nearby.empty() ? in_.model.output(i) : nearby[i];
    predictions.push_back(in_.model.predict(i, process, points));
  }
  return scored(std::move(genomes), predictions);
}

void GpScorer::add_chances(std::vector<Scored>& scored) const {
  if (!in_.failures.is_informed()) return;
  for (Scored& each : scored) each.value += in_.failures.log_chance(in_.features.of(each.genome));
}

// Scores genomes; `predictions[i][j]` is the prediction of output i at genome j.
std::vector<Scored> GpScorer::scored(
    std::vector<Genome> genomes, const std::vector<std::vector<Prediction>>& predictions) const {
  std::vector<Scored> scored;
  std::vector<Prediction> at(outputs());
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    for (std::size_t j = 0; j < outputs(); ++j) at[j] = predictions[j][i];
    scored.push_back({std::move(genomes[i]), criterion_(at).value});
  }
  return scored;
}

}  // namespace detol::inline search
