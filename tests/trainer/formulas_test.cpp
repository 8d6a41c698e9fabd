#include "trainer/formulas.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/study/study_config.h"

namespace detol {
namespace {

// Subject is a function of a space file: its search space and its values.
struct Subject {
  Space space;
  BenchmarkFunction benchmark;

  std::vector<double> at(const std::vector<double>& codes) const {
    Rng unused(0);
    return benchmark.values(space.repair(codes, unused));
  }
};

Subject subject_of(const std::string& function) {
  const auto study =
      load_study_config("version: 1\nstudy: s\nfunction: {name: " + function + "}\n", "s.yaml");
  EXPECT_TRUE(study) << study.error().message;
  return {study->space, find_row(formulas(), study->function->name)->make(*study->function)};
}

const std::vector<std::string> kMoved = {"branin",
                                         "hartmann6",
                                         "levy, dimensions: 5",
                                         "ackley, dimensions: 7",
                                         "rosenbrock",
                                         "rosenbrock, dimensions: 4",
                                         "rastrigin, dimensions: 3",
                                         "ellipsoid, dimensions: 3",
                                         "sphere, dimensions: 3",
                                         "shekel"};

struct Known {
  std::string function;
  std::vector<double> at;
  std::vector<double> values;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Formulas, HaveTheirKnownValues) {
  const double e = std::exp(1.0), pi = std::acos(-1.0);
  const Known table[] = {
      {"sleep, seconds: 0", {0.3}, {0}},
      {"branin", {pi, 2.275}, {0.39788735772973816}},
      {"branin", {-pi, 12.275}, {0.39788735772973816}},
      {"branin", {9.42477796076938, 2.475}, {0.39788735772973816}},
      {"branin", {0, 0}, {36 + 10 * (1 - 1 / (8 * pi)) + 10}},
      {"hartmann6", {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}, {-3.3223680}},
      {"hartmann6", {0, 0, 0, 0, 0, 0}, {-0.0050891122}},
      {"hartmann6", {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {-0.5053149}},
      {"levy", {1, 1}, {0}},
      {"levy", {-3, 1}, {0 + 1 * (1 + 10 * std::pow(std::sin(1.0), 2))}},
      {"levy, dimensions: 1", {5}, {1}},
      {"ackley", {0, 0}, {0}},
      {"ackley", {1, 1}, {20 - 20 * std::exp(-0.2)}},
      {"ackley, dimensions: 1", {0.5}, {20 - 20 * std::exp(-0.1) + e - 1 / e}},
      {"rosenbrock, dimensions: 3", {1, 1, 1}, {0}},
      {"rosenbrock, dimensions: 3", {0, 0, 0}, {2}},
      {"rosenbrock", {-1.2, 1}, {24.2}},
      {"ellipsoid, dimensions: 3", {0, 0, 0}, {0}},
      {"ellipsoid, dimensions: 3", {1, 2, 3}, {1 + 400 + 90000}},
      {"rastrigin, dimensions: 3", {0, 0, 0}, {0}},
      {"rastrigin", {1, 2}, {5}},
      {"rastrigin", {0.5, 0}, {20.25}},
      {"sphere, dimensions: 3", {0, 0, 0}, {0}},
      {"sphere, dimensions: 3", {1, -2, 3}, {14}},
      {"shekel", {4.00074653, 4.00059293, 3.99966340, 3.99950980}, {-10.5364098}},
      {"shekel", {4, 4, 4, 4}, {-10.5362837}},
      {"mixed", {1, 1e-3, 5, 2}, {0}},
      {"mixed", {1, 1e-3, 5, 1}, {0.3}},
      {"mixed", {-5, 1, 1, 0}, {0.5 + 0.9 + 2.25 + 1}},
      {"conditional", {1, kNone, kNone, 24, 1, 0.7}, {0}},
      {"conditional", {1, kNone, kNone, 40, 0, kNone}, {1.3}},
      {"conditional", {0, 2, 1e-2, kNone, kNone, kNone}, {0.2}},
      {"conditional", {2, kNone, kNone, kNone, kNone, kNone}, {1}},
      {"gardner", {1.5 * pi, 0.5 * pi}, {0.5 * pi - 1, -0.05}},
      {"gardner", {0, 2}, {2, 0.95}},
      {"hartmann6_constrained", {0, 0, 0, 0, 0, 0}, {-0.0050891122, -0.3, 0.8}},
      {"hartmann6_constrained",
       {0.44047586, 0.09620501, 0.42496176, 0.35952414, 0.30738375, 0.53920738},
       {-2.2901445, 0, 0}},
      {"zdt1, dimensions: 3", {0.25, 0, 0}, {0.25, 0.5}},
      {"zdt1, dimensions: 3", {1, 1, 1}, {1, 10 - std::sqrt(10.0)}},
      {"zdt2, dimensions: 3", {0.5, 0, 0}, {0.5, 0.75}},
      {"zdt2, dimensions: 3", {1, 1, 1}, {1, 9.9}},
      {"zdt3, dimensions: 3", {0.25, 0, 0}, {0.25, 0.25}},
      {"zdt3, dimensions: 3", {0, 1, 1}, {0, 10}},
      {"dtlz2, dimensions: 4", {0, 0, 0.5, 0.5}, {1, 0, 0}},
      {"dtlz2, dimensions: 4", {0, 1, 0.5, 0.5}, {0, 1, 0}},
      {"dtlz2, dimensions: 4", {1, 0.3, 0.5, 0.5}, {0, 0, 1}},
      {"dtlz2, dimensions: 4", {0, 0, 0, 1}, {1.5, 0, 0}},
      {"dtlz2, dimensions: 3, objectives: 2", {0.5, 0.5, 0.5}, {std::sqrt(0.5), std::sqrt(0.5)}},
  };
  for (const Known& known : table) {
    SCOPED_TRACE(known.function);
    const std::vector<double> values = subject_of(known.function).at(known.at);
    ASSERT_EQ(values.size(), known.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], known.values[i], 2e-6);
  }
}

// Returns the least value that a search along the axes finds from x on: the optimum may have been
// moved.
double least_near(const Subject& subject, std::vector<double> x, int rounds) {
  double best = subject.at(x).front();
  std::vector<double> steps(x.size(), 1.0);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool moved = false;
      for (const double direction : {1.0, -1.0}) {
        std::vector<double> other = x;
        const Domain& domain = subject.space.domains()[i];
        other[i] = std::clamp(x[i] + direction * steps[i], domain.low, domain.high);
        const double value = subject.at(other).front();
        if (value >= best) continue;
        best = value;
        x = other;
        moved = true;
      }
      steps[i] = std::max(1e-4, steps[i] * (moved ? 1.5 : 0.6));  // a valley does not stop it
    }
  }
  return best;
}

TEST(Formulas, NoPointLiesBelowTheOptimum) {
  for (const std::string& function : kMoved) {
    for (const char* options : {"", ", shift_seed: 3", ", shift_seed: 4, rotate_seed: 5",
                                ", rotate_seed: 6, warp: log", ", warp: sqrt"}) {
      const Subject subject = subject_of(function + options);
      SCOPED_TRACE(function + options);
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        EXPECT_GE(subject.benchmark.values(subject.space.sample(rng)).front(),
                  subject.benchmark.optimum - 1e-12);
      }
    }
  }
}

// Returns the least value of a kind of `branches`: a sum of squares, whose centre follows from its
// values at both ends of each parameter.
double least_of_kind(const Subject& subject, std::size_t kind) {
  const std::vector<std::size_t> own = {1, 2, 3 + 2 * kind, 4 + 2 * kind};
  std::vector<double> corner(subject.space.size(), kNone);
  corner[0] = static_cast<double>(kind);
  for (const std::size_t i : own) corner[i] = 0;
  std::vector<double> centre = corner;
  for (const std::size_t i : own) {
    std::vector<double> end = corner;
    end[i] = 1;
    centre[i] = (1 + subject.at(corner).front() - subject.at(end).front()) / 2;
  }
  return subject.at(centre).front();
}

TEST(Formulas, EveryInstanceOfBranchesHasFourNearOptima) {
  std::set<std::ptrdiff_t> best_kinds;
  for (int instance = 0; instance < 8; ++instance) {
    const Subject subject = subject_of("branches, instance: " + std::to_string(instance));
    std::vector<double> least;
    for (std::size_t kind = 0; kind < 4; ++kind) least.push_back(least_of_kind(subject, kind));
    best_kinds.insert(std::ranges::min_element(least) - least.begin());
    std::ranges::sort(least);
    const std::vector<double> heights = {0, 0.02, 0.05, 0.1};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(least[i], heights[i], 1e-12);
  }
  EXPECT_GT(best_kinds.size(), 1u);
}

TEST(Formulas, TrialsOfBoundaryFailJustBeyondItsOptimum) {
  const Subject subject = subject_of("boundary, dimensions: 5");
  const double inverses = 1 + 1 / 1.25 + 1 / 1.5 + 1 / 1.75 + 1 / 2.0;
  std::vector<double> inside, outside;
  for (const double weight : {1.0, 1.25, 1.5, 1.75, 2.0}) {
    const double best = 1 - 2.25 / inverses / weight;
    inside.push_back(best - 1e-9);
    outside.push_back(best + 1e-9);
  }
  EXPECT_NEAR(subject.at(inside).front(), subject.benchmark.optimum, 1e-7);
  EXPECT_TRUE(std::isnan(subject.at(outside).front()));
}

TEST(Formulas, GallagherHasItsOptimumOnItsHighestPeak) {
  for (int instance = 0; instance < 5; ++instance) {
    const Subject subject = subject_of("gallagher, instance: " + std::to_string(instance));
    EXPECT_EQ(subject.benchmark.optimum, 0);
    double best = 100;
    Rng rng(1);
    for (int i = 0; i < 20'000; ++i)
      best = std::min(best, subject.benchmark.values(subject.space.sample(rng)).front());
    EXPECT_LT(best, 0.5);  // the second peak is 0.9 lower: its value is 0.81
    EXPECT_GE(best, 0);
  }
  EXPECT_NE(subject_of("gallagher, instance: 1").at({1, 2}),
            subject_of("gallagher, instance: 2").at({1, 2}));
}

TEST(Formulas, AMovedAndTurnedBowlHasItsOptimumInTheMiddleOfTheBox) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Subject subject = subject_of("rosenbrock, shift_seed: " + std::to_string(seed) +
                                       ", rotate_seed: " + std::to_string(seed));
    EXPECT_NEAR(least_near(subject, {2.5, 2.5}, 20'000), 0, 1e-3) << "seed " << seed;
  }
}

TEST(Formulas, ARotationKeepsDistancesFromTheOptimum) {
  // Close to its optimum ackley depends on the distance from it alone, so the two agree.
  const Subject plain = subject_of("ackley, dimensions: 3");
  const Subject turned = subject_of("ackley, dimensions: 3, rotate_seed: 9");
  EXPECT_NEAR(turned.at({0, 0, 0}).front(), 0, 1e-12);
  EXPECT_NE(turned.at({1, 2, 3}), plain.at({1, 2, 3}));
  EXPECT_NEAR(turned.at({1e-3, 0, 0}).front(), plain.at({1e-3, 0, 0}).front(), 1e-5);
  EXPECT_NEAR(turned.at({0, 0, 1e-3}).front(), plain.at({1e-3, 0, 0}).front(), 1e-5);
}

TEST(Formulas, ASeedIsAlwaysTheSameAndAnotherIsAnother) {
  const auto value = [](const std::string& seeds) {
    return subject_of("levy, dimensions: 4" + seeds).at({1, 2, 3, 4}).front();
  };
  EXPECT_EQ(value(", shift_seed: 1"), value(", shift_seed: 1"));
  EXPECT_NE(value(", shift_seed: 1"), value(", shift_seed: 2"));
  EXPECT_EQ(value(", rotate_seed: 1"), value(", rotate_seed: 1"));
  EXPECT_NE(value(", rotate_seed: 1"), value(", rotate_seed: 2"));
  EXPECT_NE(value(", shift_seed: 0"), value(""));
}

TEST(Formulas, AWarpIsOfTheDistanceFromTheLeastValue) {
  const std::vector<double> x = {0, 0};
  const Subject plain = subject_of("branin");
  const double above = plain.at(x).front() - plain.benchmark.optimum;
  EXPECT_NEAR(subject_of("branin, warp: log").at(x).front(), std::log1p(above), 1e-12);
  EXPECT_NEAR(subject_of("branin, warp: sqrt").at(x).front(), std::sqrt(above), 1e-12);
  EXPECT_EQ(subject_of("branin, warp: none").at(x), plain.at(x));
  EXPECT_EQ(subject_of("branin, warp: log").benchmark.optimum, 0);
}

TEST(Formulas, IrrelevantParametersChangeNothing) {
  for (const std::string& function : kMoved) {
    SCOPED_TRACE(function);
    const std::string turned = function + ", shift_seed: 1, rotate_seed: 2";
    const Subject plain = subject_of(turned), wide = subject_of(turned + ", irrelevant: 2");
    ASSERT_EQ(wide.space.size(), plain.space.size() + 2);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const Genome genome = plain.space.sample(rng);
      std::vector<double> codes(genome.codes().begin(), genome.codes().end());
      codes.insert(codes.end(), {rng.uniform(), rng.uniform()});
      EXPECT_EQ(wide.at(codes), plain.benchmark.values(genome));
    }
  }
}

}  // namespace
}  // namespace detol
