// Space: rules between choices, which choices count, and crossover.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "encodings/space/space.h"

namespace detol {
namespace {

constexpr std::size_t kLights = 4;
constexpr double kMostOn = 2;

double lights_on(std::span<const double> codes) {
  double on = 0;
  for (std::size_t i = 0; i < kLights; ++i) on += codes[i];
  return on;
}

// Four lights, of which two may be on, and a colour that is not expressed while all are off.
class Lights final : public ArchitectureRules {
 public:
  std::string violation(std::span<const double> codes) const override {
    return lights_on(codes) > kMostOn ? "too many lights are on" : "";
  }
  void repair(std::span<double> codes, Rng& rng) const override {
    while (lights_on(codes) > kMostOn) codes[rng.below(kLights)] = 0;
  }
  std::vector<bool> expressed(std::span<const double> codes) const override {
    std::vector<bool> counts(codes.size(), true);
    counts[kLights] = lights_on(codes) > 0;
    return counts;
  }
};

std::vector<Domain> lights_of(const std::string& room) {
  std::vector<Domain> domains(kLights + 1);
  for (std::size_t i = 0; i < kLights; ++i) {
    domains[i].name = room + ".light[" + std::to_string(i) + "]";
    domains[i].kind = DomainKind::kBool;
  }
  domains[kLights].name = room + ".colour";
  domains[kLights].kind = DomainKind::kCategorical;
  domains[kLights].choices = {std::string("red"), std::string("green"), std::string("blue")};
  return domains;
}

// Two architectures with rules each; plain choices before, between and after them.
Space house() {
  return SpaceBuilder()
      .add_float("heat", 0, 1)
      .add(lights_of("hall"), std::make_shared<Lights>())
      .add_bool("haunted")
      .add(lights_of("attic"), std::make_shared<Lights>())
      .add_int("ghosts", 1, 3, {.when = {"haunted", {Value(true)}}})
      .build()
      .value();
}

bool obeys(const Space& space, const Genome& genome) {
  for (const char* room : {"hall", "attic"}) {
    const auto first = *space.index_of(std::string(room) + ".light[0]");
    if (lights_on(genome.codes().subspan(first, kLights)) > kMostOn) return false;
  }
  return space.genome(genome.assignments()) == genome;
}

TEST(SpaceRules, HoldForEveryGenomeThatLeavesASpace) {
  const Space space = house();
  Rng rng(1);
  Genome last = space.sample(rng);
  for (int i = 0; i < 500; ++i) {
    std::vector<double> point(space.size());
    for (double& coordinate : point) coordinate = rng.uniform();
    const Genome sample = space.sample(rng);
    for (const Genome& genome :
         {sample, space.at(point), space.mutate(last, rng), space.crossover(last, sample, rng),
          space.repair(std::vector<double>(space.size(), 1), rng)})
      ASSERT_TRUE(obeys(space, genome));
    last = space.mutate(sample, rng);
  }
}

TEST(SpaceRules, HoldForGenomesThatAreCompleted) {
  const Space space = house();
  using Assignments = std::vector<std::pair<std::string, Value>>;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const auto genome = space.complete(
        Assignments{{"hall.light[0]", true}, {"hall.light[1]", true}, {"ghosts", std::int64_t{2}}},
        rng);
    ASSERT_TRUE(genome) << genome.error().message;
    ASSERT_TRUE(obeys(space, *genome));
    EXPECT_TRUE(genome->flag("hall.light[0]") && genome->flag("hall.light[1]"));
    EXPECT_EQ(genome->number("ghosts"), 2);
  }
  Rng rng(1);
  const auto genome = space.complete(
      Assignments{{"hall.light[0]", true}, {"hall.light[1]", true}, {"hall.light[2]", true}}, rng);
  ASSERT_FALSE(genome);
  EXPECT_EQ(genome.error().message, "too many lights are on");
}

TEST(SpaceRules, ArePartOfWhatAssignmentsAreCheckedAgainst) {
  const Space space = house();
  Rng rng(2);
  auto values = space.sample(rng).assignments();
  for (auto& [name, value] : values) {
    if (name.starts_with("hall.light")) value = true;
  }
  const auto genome = space.genome(values);
  ASSERT_FALSE(genome);
  EXPECT_EQ(genome.error().message, "too many lights are on");
}

TEST(SpaceRules, AtIsAFunctionOfThePoint) {
  const Space space = house();
  const std::vector<double> point(space.size(), 0.9);  // all lights on: two are put out
  EXPECT_EQ(space.at(point), space.at(point));
}

TEST(Space, ExpressesWhatIsActiveAndWhatItsStructureExpresses) {
  const Space space = house();
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const Genome genome = space.sample(rng);
    const std::vector<bool> counts = space.expressed(genome);
    for (std::size_t at = 0; at < space.size(); ++at) {
      const std::string& name = space.domains()[at].name;
      bool expected = genome.is_active(at);
      if (name.ends_with(".colour"))
        expected = lights_on(genome.codes().subspan(at - kLights, kLights)) > 0;
      EXPECT_EQ(counts[at], expected) << name;
    }
  }
}

TEST(Space, IdentityIsThatOfTheExpressedChoices) {
  const Space space = house();
  Rng rng(4);
  std::map<std::uint64_t, std::vector<double>> seen;
  for (int i = 0; i < 500; ++i) {
    const Genome genome = space.sample(rng);
    const std::vector<bool> counts = space.expressed(genome);
    std::vector<double> expressed(genome.codes().begin(), genome.codes().end());
    for (std::size_t at = 0; at < space.size(); ++at) {
      if (!counts[at]) expressed[at] = -1;
    }
    EXPECT_EQ(seen.try_emplace(space.identity(genome), expressed).first->second, expressed);
    std::vector<double> codes(genome.codes().begin(), genome.codes().end());
    for (std::size_t at = 0; at < space.size(); ++at) {
      if (!counts[at] && genome.is_active(at)) codes[at] = space.domains()[at].code_at(0.99);
    }
    EXPECT_EQ(space.identity(space.repair(codes, rng)), space.identity(genome));
  }
}

TEST(Space, ChoicesUnderOneValueMultiply) {
  const Space space = SpaceBuilder()
                          .add_categorical("opt", {"sgd", "adamw"})
                          .add_int("momentum", 1, 3, {.when = {"opt", {"sgd"}}})
                          .add_bool("nesterov", {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  EXPECT_EQ(space.cardinality(), 3 * 2 + 1);
}

TEST(Space, MutatesWhatIsExpressedOnly) {
  const Space space = house();
  const std::size_t colour = *space.index_of("hall.colour");
  Rng rng(5);
  for (int i = 0; i < 500; ++i) {
    const Genome parent = space.sample(rng);
    const Genome child = space.mutate(parent, rng);
    EXPECT_NE(child, parent);
    if (!space.expressed(parent)[colour]) {
      EXPECT_EQ(child.codes()[colour], parent.codes()[colour]);
    }
  }
}

TEST(Space, OtherCodesAreOtherValuesOfTheDomain) {
  const Space space = SpaceBuilder()
                          .add_float("float", 0, 1)
                          .add_float("grid", 0, 1, {.step = 0.5})
                          .add_float("log", 1e-4, 1, {.log = true})
                          .add_int("int", 1, 2)
                          .add_int("wide", 1, 20)
                          .add_categorical("word", {"a", "b", "c"})
                          .add_categorical("two", {"a", "b"})
                          .add_numbers("ordered", {1, 2, 4}, {.ordered = true})
                          .add_bool("bool")
                          .build()
                          .value();
  Rng rng(6);
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Domain& domain = space.domains()[i];
    std::set<double> reached;
    for (int draw = 0; draw < 300; ++draw) {
      const double code = domain.code_at(rng.uniform());
      const double other = space.other_code(i, code, rng);
      EXPECT_NE(other, code) << domain.name;
      EXPECT_TRUE(domain.contains(other)) << domain.name << " " << other;
      reached.insert(other);
    }
    EXPECT_EQ(static_cast<double>(reached.size()), std::min(300.0, domain.cardinality()))
        << domain.name;
  }
}

// Two stages with two choices each, a choice that shares their prefix, and one that does not.
Space stages() {
  return SpaceBuilder()
      .add_float("stages[0].width", 0, 1)
      .add_float("stages[0].block.rate", 0, 1)
      .add_float("stages[1].width", 0, 1)
      .add_float("stages[1].block.rate", 0, 1)
      .add_float("stages.count", 0, 1)
      .add_float("lr", 0, 1)
      .build()
      .value();
}

TEST(Space, CrossoverTakesEveryGroupWholeFromOneParent) {
  const Space space = stages();
  Rng rng(7);
  const Genome one = space.sample(rng), other = space.sample(rng);
  std::map<std::string, int> children;
  for (int i = 0; i < 800; ++i) {
    const Genome child = space.crossover(one, other, rng);
    std::string from;
    for (std::size_t at = 0; at < space.size(); ++at) {
      const double code = child.codes()[at];
      ASSERT_TRUE(code == one.codes()[at] || code == other.codes()[at]);
      from += code == one.codes()[at] ? '1' : '2';
    }
    EXPECT_EQ(from[0], from[1]);
    EXPECT_EQ(from[2], from[3]);
    ++children[from];
  }
  ASSERT_EQ(children.size(), 16U);  // four groups, all combinations
  for (const auto& [from, count] : children) EXPECT_NEAR(count, 50, 30) << from;
}

TEST(Space, CrossoverOfOneIsItself) {
  const Space space = house();
  Rng rng(8);
  for (int i = 0; i < 100; ++i) {
    const Genome genome = space.sample(rng);
    EXPECT_EQ(space.crossover(genome, genome, rng), genome);
  }
}

// A child may take a condition from one parent, and the choice that depends on it from the other.
TEST(Space, CrossoverDrawsWhatNeitherParentHad) {
  const Space space = SpaceBuilder()
                          .add_categorical("optimizer", {"sgd", "adamw"})
                          .add_float("momentum", 0, 1, {.when = {"optimizer", {"sgd"}}})
                          .build()
                          .value();
  using Values = std::vector<std::pair<std::string, Value>>;
  const Genome sgd = space.genome(Values{{"optimizer", "sgd"}, {"momentum", 0.25}}).value();
  const Genome adamw = space.genome(Values{{"optimizer", "adamw"}}).value();
  Rng rng(9);
  std::set<bool> inherited;
  for (int i = 0; i < 200; ++i) {
    const Genome child = space.crossover(sgd, adamw, rng);
    EXPECT_EQ(space.genome(child.assignments()), child);
    if (child.text("optimizer") == "sgd") inherited.insert(child.number("momentum") == 0.25);
  }
  EXPECT_EQ(inherited, (std::set{false, true}));
}

}  // namespace
}  // namespace detol
