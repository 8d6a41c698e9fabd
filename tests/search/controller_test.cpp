#include "search/controller.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/search/spaces.h"

namespace detol {
namespace {

const std::vector<std::size_t> kActionCounts = {3, 1, 4, 8};
const std::vector<bool> kOrdered = {false, false, false, true};

Controller new_controller() {
  return Controller(kActionCounts, kOrdered, Rng(5));
}

// Returns a controller whose policies are not uniform.
Controller random_controller() {
  Controller controller = new_controller();
  Rng rng(8);
  for (float& parameter : controller.parameters())
    parameter += static_cast<float>(0.3 * rng.normal());
  return controller;
}

std::vector<Decision> sequence(std::size_t first, std::size_t third, std::size_t fourth) {
  return {{0, first, true}, {1, 0, true}, {2, third, true}, {3, fourth, true}};
}

// Returns the policy at each step of a sequence.
std::vector<std::vector<float>> policies(const Controller& controller,
                                         const std::vector<Decision>& decisions) {
  Controller::SequenceState state;
  std::vector<std::vector<float>> result;
  for (const Decision& decision : decisions) {
    result.push_back(controller.forward_step(state, decision.choice));
    controller.set_last_action(state, decision.choice, decision.action);
  }
  return result;
}

TEST(Controller, ANewOneDrawsUniformly) {
  for (const auto& policy : policies(new_controller(), sequence(2, 1, 5))) {
    for (float p : policy) EXPECT_FLOAT_EQ(p, 1.0f / static_cast<float>(policy.size()));
  }
}

TEST(Controller, EveryPolicyIsADistribution) {
  for (const auto& policy : policies(random_controller(), sequence(0, 3, 7))) {
    float sum = 0;
    for (float p : policy) sum += p;
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Controller, EarlyActionsChangeLaterPolicies) {
  const auto one = policies(random_controller(), sequence(0, 3, 7));
  const auto other = policies(random_controller(), sequence(1, 3, 7));
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(one[3], other[3]);
}

// Two trajectories, one good and one bad. One decision does not count, and the probability ratio of
// another is beyond the clip.
struct Update {
  std::vector<std::vector<Decision>> sequences = {sequence(0, 3, 7), sequence(2, 0, 3)};
  std::vector<Trajectory> trajectories;
  std::vector<std::vector<float>> before;

  explicit Update(const Controller& controller) {
    sequences[0][2].counts = false;
    trajectories = {{sequences[0], 0.8}, {sequences[1], -0.6}};
    for (const auto& decisions : sequences) before.push_back(controller.log_likelihood(decisions));
    before[0][3] -= 1;      // likelier by more than the clip: no further push
    before[1][0] += 0.05f;  // within the clip
  }
};

TEST(Controller, ItsGradientIsThatOfFiniteDifferences) {
  Controller controller = random_controller();
  const Update update(controller);
  const PpoSettings ppo{.clip = 0.2, .entropy = 0.1};
  const std::vector<float> gradient = controller.gradient(update.trajectories, update.before, ppo);
  constexpr float kStep = 1.0f / 256;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float& parameter = controller.parameters()[i];
    const float kept = parameter;
    parameter = kept + kStep;
    const double above = controller.objective(update.trajectories, update.before, ppo);
    parameter = kept - kStep;
    const double below = controller.objective(update.trajectories, update.before, ppo);
    parameter = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 5e-4) << "parameter " << i;
  }
}

double log_likelihood_of(const Controller& controller, const std::vector<Decision>& decisions) {
  double sum = 0;
  for (float part : controller.log_likelihood(decisions)) sum += part;
  return sum;
}

TEST(Controller, MakesGoodTrajectoriesLikelierAndBadOnesLessLikely) {
  Controller controller = new_controller();
  const auto good = sequence(0, 3, 7), bad = sequence(2, 0, 3);
  const double good_before = log_likelihood_of(controller, good),
               bad_before = log_likelihood_of(controller, bad);
  for (int i = 0; i < 20; ++i)
    controller.update(std::vector<Trajectory>{{good, 1}, {bad, -1}}, 2, {.entropy = 0});
  EXPECT_GT(log_likelihood_of(controller, good), good_before + 1);
  EXPECT_LT(log_likelihood_of(controller, bad), bad_before - 1);
}

TEST(Controller, LearnsAnActionThatIsRightOnlyAfterAnother) {
  // "a then a" and "b then b" are rewarded, the others are not.
  const std::vector<std::size_t> actions = {2, 2};
  Controller controller(actions, {false, false}, Rng(1));
  std::vector<std::vector<Decision>> sequences;
  for (std::size_t i = 0; i < 4; ++i) sequences.push_back({{0, i / 2, true}, {1, i % 2, true}});
  const std::vector<Trajectory> trajectories = {
      {sequences[0], 1}, {sequences[1], -1}, {sequences[2], -1}, {sequences[3], 1}};
  for (int i = 0; i < 200; ++i) controller.update(trajectories, 2, {.entropy = 0});
  EXPECT_GT(policies(controller, sequences[0])[1][0], 0.9);
  EXPECT_GT(policies(controller, sequences[3])[1][1], 0.9);
}

TEST(Controller, AnOrderedActionTeachesItsNeighbours) {
  Controller controller = new_controller();
  const auto good = sequence(0, 0, 4);
  for (int i = 0; i < 10; ++i)
    controller.update(std::vector<Trajectory>{{good, 1}}, 2, {.entropy = 0});
  const auto policy = policies(controller, good);
  EXPECT_GT(policy[3][4], policy[3][3]);
  EXPECT_GT(policy[3][3], policy[3][0]);
  EXPECT_FLOAT_EQ(policy[2][1], policy[2][3]);
}

TEST(Controller, EntropyKeepsItExploring) {
  const auto good = sequence(1, 1, 1);
  double chance[2];
  for (int i : {0, 1}) {
    Controller controller = new_controller();
    const PpoSettings ppo{.entropy = i == 0 ? 0.0 : 0.5};
    for (int n = 0; n < 200; ++n) controller.update(std::vector<Trajectory>{{good, 1}}, 2, ppo);
    chance[i] = policies(controller, good)[0][1];
  }
  EXPECT_GT(chance[0], 0.99);
  EXPECT_LT(chance[1], 0.9);
}

TEST(Decisions, SamplingTheSameActionsGivesTheSameSequence) {
  Rng rng(4);
  for (const testing_support::NamedSpace& named : testing_support::all_spaces()) {
    const Decisions decisions(named.space, 16);
    for (int i = 0; i < 20; ++i) {
      const auto read = decisions.read(named.space.sample(rng));
      std::size_t next = 0;
      const auto choose = [&](std::size_t choice) {
        EXPECT_EQ(choice, read.at(next).choice) << named.name;
        return read.at(next++).action;
      };
      const auto again = decisions.read(decisions.sample(choose, rng));
      ASSERT_EQ(again.size(), read.size()) << named.name;
      // A number that is rounded to its grid may land in the next bin.
      const double slack = named.name == "steps" ? 1 : 0;
      for (std::size_t t = 0; t < read.size(); ++t) {
        EXPECT_NEAR(static_cast<double>(again[t].action), static_cast<double>(read[t].action),
                    slack)
            << named.name;
      }
    }
  }
}

TEST(Decisions, OnlyWhatIsExpressedCounts) {
  const Space space = testing_support::structured_space();
  Rng rng(2);
  const Genome genome = space.sample(rng);
  const std::vector<bool> expressed = space.expressed(genome);
  for (const Decision& decision : Decisions(space, 8).read(genome))
    EXPECT_EQ(decision.counts, expressed[decision.choice]);
}

}  // namespace
}  // namespace detol
