#include "search/gp_restart.h"

#include <gtest/gtest.h>

#include "tests/search/modelled_square.h"

namespace detol {
namespace {

// Observations of two pits: the leader's at (0.2, 0.2), and a wider one where the restart is.
struct TwoPits : ModelledSquare {
  Branches branches{space};
  std::size_t centre = 0, leader = 0;

  TwoPits() {
    leader = add(0.2, 0.2, -1);
    centre = add(0.7, 0.7, 0.1);
    Rng rng(5);
    for (int i = 0; i < 20; ++i) {
      const double x = rng.uniform(), y = rng.uniform();
      if (x + y > 0.8) add(x, y, (x - 0.8) * (x - 0.8) + (y - 0.6) * (y - 0.6));
    }
    fit();
  }

  std::size_t add(double x, double y, double loss) {
    return ModelledSquare::add(space.at(std::vector{x, y}), loss);
  }

  Genome proposal(GpRestartModels& models) {
    model.fantasize({});
    ProposalInput here = input(0.4);
    here.restart.emplace(GpRestart{centre, leader, branches});
    return models.propose(here, {}, Rng(2));
  }

  Genome fresh_proposal() {
    GpRestartModels models;
    return proposal(models);
  }
};

TEST(GpRestartModels, WhatPolishesTheLeaderChangesNoProposal) {
  TwoPits few, many;
  Rng rng(9);
  for (int i = 0; i < 30; ++i)
    many.add(0.2 + 0.05 * rng.uniform(), 0.2 + 0.05 * rng.uniform(), -1 + 1e-6 * rng.uniform());
  many.fit();
  EXPECT_EQ(few.fresh_proposal(), many.fresh_proposal());
  many.add(0.75, 0.5, -0.5);
  EXPECT_NE(few.fresh_proposal(), many.fresh_proposal());
}

TEST(GpRestartModels, EarlierProposalsChangeNoneOfTheLaterOnes) {
  TwoPits pits;
  GpRestartModels models;
  pits.proposal(models);
  pits.add(0.78, 0.62, -0.7);
  pits.add(0.9, 0.9, 40);
  EXPECT_EQ(pits.proposal(models), pits.fresh_proposal());
  pits.fit();
  EXPECT_EQ(pits.proposal(models), pits.fresh_proposal());
  pits.leader = pits.add(0.3, 0.25, -2);
  EXPECT_EQ(pits.proposal(models), pits.fresh_proposal());
}

TEST(GpRestartModels, ACorrectedOutcomeIsFittedAnewOnceTheOldFitIsForgotten) {
  TwoPits pits;
  GpRestartModels models;
  const Genome before = pits.proposal(models);
  for (std::size_t i = 2; i < 8; ++i) pits.model.correct(i, std::vector{5.0 + 3.0 * double(i % 3)});
  models.forget();
  const Genome after = pits.proposal(models);
  EXPECT_EQ(after, pits.fresh_proposal());
  EXPECT_NE(after, before);
}

// More observations than an ask could fit: the model is of those near the restart.
TEST(GpRestartModels, ManyObservationsFarAwayChangeNoProposal) {
  TwoPits pits;
  Rng rng(4);
  for (int i = 0; i < 300; ++i)
    pits.add(rng.uniform(0.5, 0.9), rng.uniform(0.5, 0.9), rng.uniform());
  pits.fit();
  GpRestartModels models;
  const Genome before = pits.proposal(models);
  for (int i = 0; i < 300; ++i) pits.add(rng.uniform(0, 0.02), rng.uniform(0.95, 1), 3);
  EXPECT_EQ(pits.proposal(models), before);
}

}  // namespace
}  // namespace detol
