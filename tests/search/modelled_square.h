#pragma once

// ModelledSquare: observations of a loss on the unit square and a model of them, as a proposal of
// the searcher `gp` sees them.

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "search/gp_proposal.h"

namespace detol {

struct ModelledSquare {
  Space space = SpaceBuilder().add_float("x", 0, 1).add_float("y", 0, 1).build().value();
  std::shared_ptr<const Features> features = std::make_shared<const Features>(space);
  GpModel model{features, 1, 1, features->empty_points()};
  std::vector<Genome> genomes;
  std::unordered_set<std::uint64_t> taken;
  GpFailures failures{*features};

  // Returns the observation's number.
  std::size_t add(Genome genome, double loss) {
    genomes.push_back(std::move(genome));
    model.append(features->of(genomes.back()), std::vector{loss});
    return genomes.size() - 1;
  }

  // Makes all observations members of the model, with the default kernel or its length scales.
  void fit(const std::optional<std::vector<double>>& lengths = std::nullopt) {
    ModelFit fit{.outputs = model.fits(),
                 .observations = model.size(),
                 .members = indices_below(model.size())};
    if (lengths) fit.outputs.front().kernel.lengths = *lengths;
    model.use(std::move(fit));
    model.fantasize({});
  }

  ProposalInput input(double side = 0) const {
    return {.space = space,
            .features = *features,
            .model = model,
            .genomes = genomes,
            .candidates = {},
            .taken = taken,
            .failures = failures,
            .side = side};
  }
};

}  // namespace detol
