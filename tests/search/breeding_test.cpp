// What a child is by the definitions of crossover and mutation, not by what a run once gave.

#include "search/breeding.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "search/perturb.h"

namespace detol {
namespace {

// A number and two hundred switches, so that hardly any child's number is mutated.
Space number_among_switches() {
  SpaceBuilder builder;
  builder.add_float("x", 0, 1);
  for (int i = 0; i < 200; ++i) builder.add_bool("s" + std::to_string(i));
  return builder.build().value();
}

Genome with_number(const Space& space, double x) {
  std::vector<double> codes(space.size(), 0);
  codes[0] = x;
  Rng rng(1);
  return space.repair(std::move(codes), rng);
}

// By simulated binary crossover a child is as far from the middle of its parents as they are, times
// a factor that is above 1 as often as below, and above 2 with probability 2^-(eta + 1) / 2. Half
// of the numbers are blended.
TEST(Breeding, ANumberIsAsFarFromItsParentsAsSimulatedBinaryCrossoverSays) {
  const Space space = number_among_switches();
  const Genome low = with_number(space, 0.45), high = with_number(space, 0.55);
  const Breeding breeding{.crossover_rate = 1, .crossover_eta = 3};
  constexpr int kChildren = 20'000;
  int blended = 0, beyond = 0, far = 0;
  for (int i = 0; i < kChildren; ++i) {
    Rng rng = Rng(7).split(static_cast<std::uint64_t>(i));
    const double x = child_of(space, low, high, breeding, rng).number("x");
    const double factor = std::abs(x - 0.5) / 0.05;
    blended += std::abs(factor - 1) > 1e-9 ? 1 : 0;
    beyond += factor > 1 + 1e-9 ? 1 : 0;
    far += factor > 2 ? 1 : 0;
  }
  EXPECT_NEAR(blended / double{kChildren}, 0.5, 0.02);
  EXPECT_NEAR(beyond / double{kChildren}, 0.25, 0.015);
  EXPECT_NEAR(far / double{kChildren}, 1.0 / 64, 0.005);
}

TEST(Breeding, ACloserParentHasTheCloserChildren) {
  const Space space = number_among_switches();
  const Genome low = with_number(space, 0.2), high = with_number(space, 0.8);
  const Breeding breeding{.crossover_rate = 1};
  double sum = 0;
  int of_low = 0;
  for (int i = 0; i < 4000; ++i) {
    Rng rng = Rng(8).split(static_cast<std::uint64_t>(i));
    const double x = child_of(space, low, high, breeding, rng).number("x");
    sum += x / 4000;
    of_low += x < 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(sum, 0.5, 0.02) << "children favour neither parent";
  EXPECT_NEAR(of_low, 2000, 150);
}

TEST(Breeding, OneChoiceOnAverageIsMutated) {
  SpaceBuilder builder;
  for (int i = 0; i < 40; ++i)
    builder.add_categorical("c" + std::to_string(i), {"0", "1", "2", "3", "4"});
  const Space space = builder.build().value();
  Rng first(3);
  const Genome parent = space.sample(first);
  int changed = 0, unchanged = 0;
  for (int i = 0; i < 4000; ++i) {
    Rng rng = Rng(9).split(static_cast<std::uint64_t>(i));
    const Genome child = child_of(space, parent, parent, {}, rng);
    int different = 0;
    for (std::size_t k = 0; k < space.size(); ++k)
      different += child.codes()[k] != parent.codes()[k] ? 1 : 0;
    changed += different;
    unchanged += different == 0 ? 1 : 0;
  }
  EXPECT_NEAR(changed / 4000.0, 1, 0.06);
  EXPECT_NEAR(unchanged / 4000.0, std::pow(1 - 1.0 / 40, 40), 0.03);
}

// A polynomial step of index 5 is within 0.2 of the range with probability 1 - (1 - 0.2)^6.
TEST(Breeding, AMutatedNumberStaysNear) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const Genome parent = with_number(space, 0.5);
  int near = 0, above = 0;
  for (int i = 0; i < 10'000; ++i) {
    Rng rng = Rng(10).split(static_cast<std::uint64_t>(i));
    const double x = child_of(space, parent, parent, {}, rng).number("x");
    near += std::abs(x - 0.5) < 0.2 ? 1 : 0;
    above += x > 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(near / 10'000.0, 1 - std::pow(0.8, 6), 0.02);
  EXPECT_NEAR(above / 10'000.0, 0.5, 0.02);
}

// A number's step is common to a perturbation, from 0.001 to 0.3 of the range by its logarithm: of
// normal steps with such deviations one of thirty passes 0.3.
TEST(Perturbed, MovesANumberOfOneChoiceByASmallStep) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const Genome middle = space.at(std::vector{0.5});
  Rng rng(3);
  int near = 0, far = 0;
  for (int i = 0; i < 2000; ++i) {
    const double moved = std::abs(perturbed(space, middle, rng).number("x") - 0.5);
    near += moved < 0.02 ? 1 : 0;
    far += moved > 0.3 ? 1 : 0;
  }
  EXPECT_GT(near, 900);
  EXPECT_LT(far, 120);
}

}  // namespace
}  // namespace detol
