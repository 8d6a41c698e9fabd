// A space file with `function`: what it implies and what cannot stand beside it.

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const std::string kSleep = "version: 1\nstudy: s\nfunction: {name: sleep, seconds: 0.5}\n";

TEST(FunctionStudy, ImpliesItsParametersMetricAndDirection) {
  const StudyConfig study = load(kSleep);
  ASSERT_TRUE(study.function);
  EXPECT_EQ(study.function->name, "sleep");
  EXPECT_EQ(study.function->number("seconds"), 0.5);
  EXPECT_EQ(choices_of(study), "x0");
  EXPECT_EQ(accepted_values(study.space.domains()[0]), "0 to 1");
  ASSERT_EQ(study.objectives.size(), 1u);
  EXPECT_EQ(study.objectives[0].metric, "value");
  EXPECT_EQ(study.objectives[0].direction, Direction::kMinimize);
  EXPECT_EQ(study.max_epochs, 1);
}

TEST(FunctionStudy, ItsCandidatesHaveNoNetworkAndOneEpoch) {
  const StudyConfig study = load(kSleep);
  Rng rng(1);
  const Genome genome = study.space.sample(rng);
  const auto candidate = study.candidate(genome, {});
  ASSERT_TRUE(candidate);
  EXPECT_TRUE(candidate->network.nodes().empty());
  EXPECT_EQ(candidate->recipe.epochs, 1);
  EXPECT_EQ(candidate->cost.flops, 0);
  EXPECT_EQ(candidate->arch_hash, 0u);
  EXPECT_EQ(study.architecture_json(genome), "null");
}

TEST(FunctionStudy, ItsTextGivesTheSameStudyAgain) {
  const StudyConfig study = load(kSleep + "budget: 5trials\n", {{"function.seconds", "2"}});
  const StudyConfig again = load(study.text);
  EXPECT_EQ(again.text, study.text);
  EXPECT_EQ(again.function->number("seconds"), 2);
  EXPECT_EQ(again.budget, "5trials");
}

TEST(FunctionStudy, TakesSearchInitialTrialsAndAnObjective) {
  const StudyConfig study = load(kSleep +
                                 "objectives: [{metric: value, direction: maximize}]\n"
                                 "search: {algorithm: random, initial_trials: [{x0: 0.25}]}\n");
  EXPECT_EQ(study.objectives[0].direction, Direction::kMaximize);
  EXPECT_EQ(study.initial_trials.size(), 1u);
}

TEST(FunctionStudy, ReportsAnotherMetricThanTraining) {
  EXPECT_EQ(metric_names(load(kSleep)).front(), "value");
  EXPECT_EQ(metric_names(load(file_with(kPlainStage))).front(), "val_accuracy");
}

struct Implication {
  std::string function;
  std::string choices, first, last;  // first, last: what the first and last choice accept
  std::string metrics;
};

TEST(FunctionStudy, EachFunctionHasItsBoxAndMetrics) {
  const Implication table[] = {
      {"branin", "x0 x1", "-5 to 10", "0 to 15", "value"},
      {"hartmann6", "x0 x1 x2 x3 x4 x5", "0 to 1", "0 to 1", "value"},
      {"levy, dimensions: 3", "x0 x1 x2", "-10 to 10", "-10 to 10", "value"},
      {"ackley", "x0 x1", "-5 to 10", "-5 to 10", "value"},
      {"ackley, dimensions: 1, irrelevant: 2", "x0 x1 x2", "-5 to 10", "0 to 1", "value"},
      {"rosenbrock", "x0 x1", "-5 to 10", "-5 to 10", "value"},
      {"ellipsoid", "x0 x1", "-5 to 5", "-5 to 5", "value"},
      {"rastrigin", "x0 x1", "-5.12 to 5.12", "-5.12 to 5.12", "value"},
      {"sphere, dimensions: 3", "x0 x1 x2", "-5 to 5", "-5 to 5", "value"},
      {"shekel, noise: 0.5", "x0 x1 x2 x3", "0 to 10", "0 to 10", "value"},
      {"gallagher, instance: 3", "x0 x1", "-5 to 5", "-5 to 5", "value"},
      {"branches",
       "kind x0 x1 a0<-kind a1<-kind b0<-kind b1<-kind c0<-kind c1<-kind d0<-kind d1<-kind",
       "a, b, c, d", "0 to 1", "value"},
      {"mixed", "x0 x1 x2 x3", "-5 to 5", "a, b, c, d", "value"},
      {"conditional", "x0 x1<-x0 x2<-x0 x3<-x0 x4<-x0 x5<-x4", "a, b, c", "0 to 1", "value"},
      {"boundary, dimensions: 2", "x0 x1", "0 to 1", "0 to 1", "value"},
      {"gardner", "x0 x1", "0 to 6", "0 to 6", "value c1"},
      {"hartmann6_constrained", "x0 x1 x2 x3 x4 x5", "0 to 1", "0 to 1", "value c1 c2"},
      {"zdt1, dimensions: 2", "x0 x1", "0 to 1", "0 to 1", "f1 f2"},
      {"zdt2, dimensions: 2", "x0 x1", "0 to 1", "0 to 1", "f1 f2"},
      {"zdt3, dimensions: 2", "x0 x1", "0 to 1", "0 to 1", "f1 f2"},
      {"dtlz2, dimensions: 4", "x0 x1 x2 x3", "0 to 1", "0 to 1", "f1 f2 f3"},
      {"dtlz2, dimensions: 4, objectives: 2", "x0 x1 x2 x3", "0 to 1", "0 to 1", "f1 f2"},
  };
  for (const Implication& row : table) {
    SCOPED_TRACE(row.function);
    const StudyConfig study =
        load("version: 1\nstudy: s\nfunction: {name: " + row.function + "}\n");
    ASSERT_EQ(choices_of(study), row.choices);
    EXPECT_EQ(accepted_values(study.space.domains().front()), row.first);
    EXPECT_EQ(accepted_values(study.space.domains().back()), row.last);
    std::string metrics;
    for (const Objective& objective : study.objectives) {
      EXPECT_EQ(objective.direction, Direction::kMinimize);
      metrics += (metrics.empty() ? "" : " ") + objective.metric;
    }
    EXPECT_EQ(metrics, row.metrics);
  }
}

struct Case {
  std::string name;
  std::string text;     // of the file, after its first two lines
  std::string message;  // how the error begins
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.text;
}

const std::vector<Case> kCases = {
    {"UnknownFunction", "function: {name: slep}\n",
     "s.yaml:3:18: function.name: unknown word 'slep'; did you mean 'sleep'?"},
    {"NoName", "function: {}\n", "s.yaml:3:11: function: the key 'name' is missing"},
    {"NotAMap", "function: sleep\n", "s.yaml:3:11: function is a single value; it must be a map"},
    {"NothingAtAll", "function:\n", "s.yaml:3:"},
    {"NoSeconds", "function: {name: sleep}\n",
     "s.yaml:3:11: function: the key 'seconds' is missing; it must be a number from 0"},
    {"NegativeSeconds", "function: {name: sleep, seconds: -1}\n", "s.yaml:3:34: function.seconds"},
    {"SearchedSeconds", "function: {name: sleep, seconds: {type: float, low: 0, high: 1}}\n",
     "s.yaml:3:34: function.seconds"},
    {"UnknownOption", "function: {name: sleep, second: 1}\n",
     "s.yaml:3:25: function: unknown key 'second'; did you mean 'seconds'?"},
    {"WithData", "function: {name: sleep, seconds: 1}\ndata: {format: idx, path: /data}\n",
     "s.yaml:4:1: 'data' cannot stand beside 'function'"},
    {"WithArchitecture", "architecture: {type: chain}\nfunction: {name: sleep, seconds: 1}\n",
     "s.yaml:3:1: 'architecture' cannot stand beside 'function'"},
    {"WithTraining", "function: {name: sleep, seconds: 1}\ntraining: {epochs: 1}\n",
     "s.yaml:4:1: 'training' cannot stand beside 'function'"},
    {"WithParameters", "function: {name: sleep, seconds: 1}\nparameters: {lr: 0.1}\n",
     "s.yaml:4:1: 'parameters' cannot stand beside 'function'"},
    {"AnotherMetric",
     "function: {name: sleep, seconds: 1}\nobjectives: [{metric: val_loss, direction: "
     "minimize}]\n",
     "s.yaml:4:23: objectives[0].metric: unknown word 'val_loss'; known: value"},
    {"AnObjectiveThatTheFunctionHasNot",
     "function: {name: dtlz2, objectives: 2}\nobjectives: [{metric: f3, direction: minimize}]\n",
     "s.yaml:4:23: objectives[0].metric: unknown word 'f3'; did you mean 'f1'? known: f1, f2"},
    {"TooFewDimensions", "function: {name: rosenbrock, dimensions: 1}\n",
     "s.yaml:3:42: function.dimensions is '1'; it must be a whole number from 2 to 1000"},
    {"DimensionsOfAFunctionThatHasItsOwn", "function: {name: branin, dimensions: 2}\n",
     "s.yaml:3:26: function: unknown key 'dimensions'"},
    {"NegativeNoise", "function: {name: mixed, noise: -1}\n",
     "s.yaml:3:32: function.noise is '-1'; it must be a number from 0"},
    {"UnknownWarp", "function: {name: levy, warp: lgo}\n",
     "s.yaml:3:30: function.warp: unknown word 'lgo'; did you mean 'log'? known: none, log, sqrt"},
    {"NoObjective", "function: {name: sleep, seconds: 1}\nobjectives: []\n",
     "s.yaml:4:13: objectives is empty"},
    {"AParameterItDoesNotHave",
     "function: {name: sleep, seconds: 1}\nsearch: {initial_trials: [{x1: 0.5}]}\n",
     "s.yaml:4:27: search.initial_trials: "},
};

class BadFunctionStudy : public testing::TestWithParam<Case> {};

TEST_P(BadFunctionStudy, IsRefusedWithItsPlace) {
  const std::string message = message_of("version: 1\nstudy: s\n" + GetParam().text);
  EXPECT_TRUE(message.starts_with(GetParam().message)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Table, BadFunctionStudy, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace detol
