// Domain, Space, SpaceBuilder and Genome: the contract that every searcher relies on.

#include "encodings/space/space.h"

#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/encodings/domains.h"

namespace detol {
namespace {

Space conditional_space() {
  return SpaceBuilder()
      .add_categorical("opt", {"sgd", "adamw"})
      .add_int("momentum", 1, 3, {.when = {"opt", {"sgd"}}})
      .add_bool("nesterov",
                {.when = {"momentum", {Value(std::int64_t{2}), Value(std::int64_t{3})}}})
      .add_int("depth", 1, 4)
      .build()
      .value();
}

TEST(Genome, ANameThatIsNotThereIsNeverAValue) {
  const Space space = SpaceBuilder()
                          .add_categorical("opt", {"sgd", "adam"})
                          .add_float("momentum", 0.5, 0.99, {.when = {"opt", {"sgd"}}})
                          .add_categorical("kind", {"a"}, {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  const std::vector<std::pair<std::string, Value>> adam = {{"opt", std::string("adam")}};
  const Genome genome = space.genome(adam).value();
  const auto refusal = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal([&] { (void)genome.number("momntum"); }),
            "unknown parameter 'momntum'; did you mean 'momentum'? known: opt, momentum, kind");
  EXPECT_NE(refusal([&] { (void)genome.value("optt"); }), "none");
  EXPECT_NE(refusal([&] { (void)Genome().number("opt"); }), "none");
  EXPECT_EQ(refusal([&] { (void)genome.number("opt"); }),
            "parameter 'opt' is adam, which is not a number");
  EXPECT_EQ(refusal([&] { (void)genome.flag("opt"); }),
            "parameter 'opt' is adam, which is not true or false");
  EXPECT_EQ(refusal([&] { (void)genome.text("kind"); }),
            "parameter 'kind' is not active in this candidate; ask is_active() first");
  EXPECT_TRUE(std::isnan(genome.number("momentum"))) << "it is not active";
}

TEST(Space, ACoarseGridIsLeftInBothDirections) {
  const Space space = SpaceBuilder().add_int("x", 0, 2).build().value();
  Rng rng(1);
  std::map<double, int> counts;
  for (int i = 0; i < 4000; ++i) ++counts[space.other_code(0, 1, rng)];
  EXPECT_NEAR(counts[0], 2000, 150);
  EXPECT_NEAR(counts[2], 2000, 150);
}

TEST(Space, CountsConditionalGenomes) {
  // sgd: momentum 1, or 2 and 3 with nesterov or not: 1 + 2 * 2; adamw: 1; four depths.
  EXPECT_EQ(conditional_space().cardinality(), (5 + 1) * 4);
  EXPECT_EQ(SpaceBuilder().add_float("x", 0, 1).build()->cardinality(), kInfinity);
  EXPECT_EQ(SpaceBuilder().build()->cardinality(), 1);
}

std::string text_of(const Genome& genome) {
  std::string text;
  for (const auto& [name, value] : genome.assignments()) text += name + "=" + to_text(value) + " ";
  return text;
}

TEST(Space, SamplesEveryGenomeAndNoOther) {
  const Space space = conditional_space();
  std::set<std::string> seen;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    Rng rng = Rng(1).split(n);
    const Genome genome = space.sample(rng);
    const auto assignments = genome.assignments();
    EXPECT_TRUE(space.genome(assignments)) << text_of(genome);
    seen.insert(text_of(genome));
  }
  EXPECT_EQ(static_cast<double>(seen.size()), space.cardinality());
}

TEST(Space, MutantsDifferInOneChoiceAndWhatHangsOnIt) {
  const Space space = conditional_space();
  for (std::uint64_t n = 0; n < 2000; ++n) {
    SCOPED_TRACE("seed 2, case " + std::to_string(n));
    Rng rng = Rng(2).split(n);
    const Genome parent = space.sample(rng);
    const Genome child = space.mutate(parent, rng);
    EXPECT_FALSE(child == parent);
    EXPECT_TRUE(space.genome(child.assignments()));
    const bool depth_changed = parent.number("depth") != child.number("depth");
    const bool rest_changed =
        parent.text("opt") != child.text("opt") ||
        parent.is_active("momentum") != child.is_active("momentum") ||
        (parent.is_active("momentum") && parent.number("momentum") != child.number("momentum")) ||
        parent.is_active("nesterov") != child.is_active("nesterov") ||
        (parent.is_active("nesterov") && parent.flag("nesterov") != child.flag("nesterov"));
    EXPECT_NE(depth_changed, rest_changed) << text_of(parent) << "-> " << text_of(child);
  }
}

TEST(Space, MutationReachesEveryValueOfEveryDomain) {
  for (const Domain& domain : kDomains) {
    if (std::isinf(domain.cardinality())) continue;
    const Space space = SpaceBuilder().add(domain).build().value();
    Rng rng(3);
    Genome genome = space.sample(rng);
    std::set<double> seen;
    for (int i = 0; i < 20000; ++i) {
      seen.insert(genome.codes()[0]);
      const Genome child = space.mutate(genome, rng);
      EXPECT_EQ(child == genome, domain.cardinality() == 1);
      genome = child;
    }
    EXPECT_EQ(static_cast<double>(seen.size()), domain.cardinality()) << accepted_values(domain);
  }
}

TEST(Space, MutationOfAnOrderedRangeStaysNear) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  Rng rng(4);
  double moved = 0;
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    const Genome parent = space.genome({{{"x", 0.5}}}).value();
    moved += std::abs(space.mutate(parent, rng).number("x") - 0.5);
  }
  EXPECT_NEAR(moved / n, 0.1 * std::sqrt(2 / std::numbers::pi), 0.005);  // mean |step|
}

TEST(Space, RepairKeepsWhatIsValidAndDrawsTheRest) {
  const Space space = conditional_space();
  const double nan = std::nan("");
  Rng rng(5);
  const Genome kept = space.repair({1, 2, 1, 3}, rng);
  EXPECT_EQ(text_of(kept), "opt=adamw depth=3 ");
  const Genome drawn = space.repair({0, nan, nan, 99}, rng);
  EXPECT_TRUE(drawn.is_active("momentum"));
  EXPECT_TRUE(space.genome(drawn.assignments()));
}

TEST(Space, PointsOfTheUnitCubeAreGenomes) {
  const Space space = conditional_space();
  const std::vector<double> low(space.size(), 0.0);
  EXPECT_EQ(text_of(space.at(low)), "opt=sgd momentum=1 depth=1 ");
  const std::vector<double> high(space.size(), std::nextafter(1.0, 0.0));
  EXPECT_EQ(text_of(space.at(high)), "opt=adamw depth=4 ");
}

using Assignments = std::vector<std::pair<std::string, Value>>;

TEST(Space, GenomeSaysWhatIsWrongWithItsAssignments) {
  const Space space = conditional_space();
  const auto message = [&](const Assignments& assignments) {
    const auto genome = space.genome(assignments);
    return genome ? std::string() : genome.error().message;
  };
  const std::pair<std::string, Value> sgd{"opt", "sgd"}, adamw{"opt", "adamw"},
      depth{"depth", std::int64_t{2}}, momentum{"momentum", std::int64_t{1}};
  EXPECT_EQ(message({adamw, depth}), "");
  EXPECT_EQ(message({sgd, momentum, depth}), "");
  EXPECT_EQ(message({adamw}), "depth is missing");
  EXPECT_EQ(message({sgd, depth}), "momentum is missing");
  EXPECT_EQ(message({adamw, depth, depth}), "depth is given twice");
  EXPECT_EQ(message({adamw, depth, momentum}), "momentum is given, but opt switches it off");
  EXPECT_EQ(message({{"depth", std::int64_t{9}}, adamw}), "depth cannot be 9; it accepts 1 to 4");
  EXPECT_EQ(
      message({{"dept", std::int64_t{1}}}),
      "unknown parameter 'dept'; did you mean 'depth'? known: opt, momentum, nesterov, depth");
}

TEST(Space, CompleteKeepsWhatIsGivenAndDrawsTheRest) {
  const Space space = conditional_space();
  std::map<std::string, int> texts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    ++texts[text_of(space.complete(Assignments{{"momentum", std::int64_t{1}}}, rng).value())];
  }
  for (const auto& [text, count] : texts)
    EXPECT_TRUE(text.starts_with("opt=sgd momentum=1 ")) << text;
  EXPECT_GT(texts.size(), 3u);
  Rng rng(1);
  EXPECT_EQ(
      text_of(
          space.complete(Assignments{{"opt", "adamw"}, {"depth", std::int64_t{2}}}, rng).value()),
      "opt=adamw depth=2 ");
}

TEST(Space, CompleteSaysWhatIsWrongWithItsAssignments) {
  const Space space = SpaceBuilder()
                          .add_categorical("a", {"x", "y"})
                          .add_categorical("b", {"x", "y"}, {.when = {"a", {"x"}}})
                          .add_float("c", 0, 1, {.when = {"b", {"x"}}})
                          .add_float("d", 0, 1, {.when = {"b", {"y"}}})
                          .build()
                          .value();
  const auto message = [&](const Assignments& assignments) {
    Rng rng(1);
    const auto genome = space.complete(assignments, rng);
    return genome ? text_of(*genome) : genome.error().message;
  };
  EXPECT_EQ(message({{"c", 0.5}}), "a=x b=x c=0.5 ");
  EXPECT_EQ(message({{"c", 0.5}, {"d", 0.5}}),
            "no value of b has both c and the others that are given");
  EXPECT_EQ(message({{"c", 0.5}, {"b", "y"}}), "c is given, but b switches it off");
  EXPECT_EQ(message({{"c", 0.5}, {"a", "y"}}), "c is given, but b switches it off");
  EXPECT_EQ(message({{"c", 2.0}}), "c cannot be 2; it accepts 0 to 1");
}

TEST(Genome, EqualsItsCopyAndTellsInactiveFromActive) {
  const Space space = conditional_space();
  Rng rng(6);
  const Genome a = space.repair({1, 1, 1, 1}, rng), b = space.repair({0, 1, 0, 1}, rng);
  EXPECT_TRUE(a == Genome(a));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a.is_active("momentum"));
  EXPECT_FALSE(a.is_active("nothing of that name"));
  EXPECT_FALSE(Genome().is_active("opt"));
}

struct Mistake {
  std::string message;
  SpaceBuilder builder;
};

TEST(SpaceBuilder, ReportsTheFirstMistake) {
  const std::vector<Mistake> mistakes = {
      {"x is defined twice", SpaceBuilder().add_bool("x").add_bool("x")},
      {"a parameter has no name", SpaceBuilder().add_bool("")},
      {"x: low 2 is above high 1", SpaceBuilder().add_float("x", 2, 1)},
      {"x: low and high must be finite", SpaceBuilder().add_float("x", 0, kInfinity)},
      {"x: a log range needs low above 0", SpaceBuilder().add_float("x", 0, 1, {.log = true})},
      {"x: step must be above 0", SpaceBuilder().add_float("x", 0, 1, {.step = -1})},
      {"x: an int step must be a whole number of at least 1",
       SpaceBuilder().add_int("x", 0, 4, {.step = 0.5})},
      {"x: choices is empty; give at least one", SpaceBuilder().add_categorical("x", {})},
      {"x: the choice a is there twice", SpaceBuilder().add_categorical("x", {"a", "a"})},
      {"x: when: unknown parameter 'otp'; did you mean 'opt'? known: x, opt",
       SpaceBuilder().add_bool("x", {.when = {"otp", {Value(true)}}}).add_bool("opt")},
      {"x: when: y cannot be c; it accepts a, b",
       SpaceBuilder().add_bool("x", {.when = {"y", {"c"}}}).add_categorical("y", {"a", "b"})},
      {"x: when: the conditions form a circle", SpaceBuilder()
                                                    .add_bool("x", {.when = {"y", {Value(true)}}})
                                                    .add_bool("y", {.when = {"x", {Value(true)}}})},
  };
  for (const Mistake& row : mistakes) {
    const auto space = row.builder.build();
    ASSERT_FALSE(space) << row.message;
    EXPECT_EQ(space.error().message, row.message);
    EXPECT_EQ(space.error().code, ErrorCode::kInput);
  }
}

TEST(SpaceBuilder, AChildMayComeBeforeItsParent) {
  const Space space = SpaceBuilder()
                          .add_bool("child", {.when = {"parent", {Value(true)}}})
                          .add_bool("parent")
                          .build()
                          .value();
  EXPECT_EQ(space.cardinality(), 3);
  EXPECT_EQ(text_of(space.at(std::vector{0.0, 0.9})), "child=false parent=true ");
}

}  // namespace
}  // namespace detol
