#pragma once

// GpScorer: evaluates a model's criterion at genomes. Refers to its input. Not thread-safe.

#include <optional>
#include <span>
#include <vector>

#include "search/gp_criterion.h"
#include "search/gp_proposal_input.h"

namespace detol::inline search {

struct Scored {
  Genome genome;
  double value = 0;  // greater is better
};

// Returns what a proposal must improve on: the value of the restart's centre, or kMargin less than
// the least where the search is stalled; nullopt: the least. With several objectives there are
// neither restarts nor a margin.
std::optional<double> reference_of(const ProposalInput& input);

class GpScorer {
 public:
  explicit GpScorer(const ProposalInput& input)
      : in_(input),
        criterion_(input.model, input.acquisition, reference_of(input), input.improved) {}

  std::size_t outputs() const { return in_.model.fits().size(); }
  const GpCriterion& criterion() const { return criterion_; }

  // Scores by the processes `nearby` (GpNeighbourhoods), if there are any, else by the model's own.
  std::vector<Scored> score(std::vector<Genome> genomes, std::span<const LazyGp> nearby = {}) const;
  // Adds the logarithms of the chances of success, which all cost as much as the scores.
  void add_chances(std::vector<Scored>& scored) const;
  // Scores the input's candidates, whose posteriors the model's processes keep up to date.
  std::vector<Scored> score_candidates() const;

 private:
  std::vector<Scored> scored(std::vector<Genome> genomes,
                             const std::vector<std::vector<Prediction>>& predictions) const;

  const ProposalInput& in_;
  const GpCriterion criterion_;
};

}  // namespace detol::inline search
