// The density of the searcher `tpe` by its definition.

#include "search/parzen.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Density: a Parzen with what it refers to.
class Density {
 public:
  Density(const Space& space, const std::vector<std::vector<double>>& codes, Bandwidth bandwidth)
      : axes_(space) {
    Rng rng(1);
    for (const auto& one : codes) genomes_.push_back(space.repair(one, rng));
    for (const Genome& genome : genomes_) coordinates_.push_back(axes_.coordinates_of(genome));
    std::vector<Observation> observations;
    for (std::size_t i = 0; i < genomes_.size(); ++i)
      observations.push_back({&genomes_[i], coordinates_[i], 1.0 + static_cast<double>(i)});
    parzen_.emplace(axes_, std::move(observations), bandwidth);
  }

  double at(const std::vector<double>& codes) const {
    Rng rng(1);
    return std::exp(parzen_->log_density(axes_.coordinates_of(axes_.space().repair(codes, rng))));
  }
  Genome draw(Rng& rng) const { return parzen_->draw(rng); }

 private:
  Axes axes_;
  std::vector<Genome> genomes_;
  std::vector<std::vector<double>> coordinates_;
  std::optional<Parzen> parzen_;
};

// Relative to the uniform density a density's mean is 1.
TEST(Parzen, OfWordsAddsUpToOne) {
  const Space space =
      SpaceBuilder().add_categorical("c", {"a", "b", "c", "d", "e"}).build().value();
  for (const auto& codes : std::vector<std::vector<std::vector<double>>>{
           {{0}}, {{0}, {0}, {3}}, {{1}, {2}, {3}, {4}, {4}, {4}}}) {
    const Density density(space, codes, Bandwidth::kScott);
    double sum = 0;
    for (double code = 0; code < 5; ++code) sum += density.at({code}) / 5;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

// With one observation of five words b is 5/6: the kernel gives the word itself 1/6 + 1/6 of the
// probability, each other one 1/6; the uniform density weighs as much.
TEST(Parzen, OfOneWordIsAitchisonsAndAitkens) {
  const Space space =
      SpaceBuilder().add_categorical("c", {"a", "b", "c", "d", "e"}).build().value();
  const Density density(space, {{2}}, Bandwidth::kScott);
  EXPECT_NEAR(density.at({2}), (5 * (2.0 / 6) + 1) / 2, 1e-12);
  EXPECT_NEAR(density.at({0}), (5 * (1.0 / 6) + 1) / 2, 1e-12);
}

TEST(Parzen, OfNumbersAddsUpToOne) {
  for (const Bandwidth bandwidth : {Bandwidth::kFixed, Bandwidth::kScott}) {
    const Space real = SpaceBuilder().add_float("x", 0, 1).build().value();
    const Density reals(real, {{0.02}, {0.5}, {0.97}}, bandwidth);
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) sum += reals.at({(i + 0.5) / 10'000}) / 10'000;
    EXPECT_NEAR(sum, 1, 1e-3);
    const Space grid = SpaceBuilder().add_int("k", 0, 4).build().value();
    const Density whole(grid, {{0}, {3}}, bandwidth);
    sum = 0;
    for (double k = 0; k < 5; ++k) sum += whole.at({k}) / 5;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

// Draws have the density's own frequencies.
TEST(Parzen, DrawsWordsAsOftenAsTheirDensitySays) {
  const Space space =
      SpaceBuilder().add_categorical("c", {"a", "b", "c", "d", "e"}).build().value();
  const Density density(space, {{0}, {3}}, Bandwidth::kScott);
  std::vector<int> counts(5);
  Rng rng(4);
  for (int i = 0; i < 20'000; ++i) ++counts[static_cast<std::size_t>(density.draw(rng).codes()[0])];
  for (std::size_t word = 0; word < 5; ++word)
    EXPECT_NEAR(counts[word] / 20'000.0, density.at({static_cast<double>(word)}) / 5, 0.012);
}

}  // namespace
}  // namespace detol
