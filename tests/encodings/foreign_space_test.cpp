// Spaces of other programs: each word of each format as the domain that the written space file has.

#include "encodings/foreign/foreign_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "encodings/study/written_parameters.h"

namespace detol {
namespace {

// Returns "int 5 10 step 5 log", "categorical a b", or "never" for a domain that the space lacks.
std::string described(const Space& space, std::string_view name) {
  const auto index = space.index_of(name);
  if (!index) return "never";
  const Domain& domain = space.domains()[*index];
  std::string text;
  if (domain.kind == DomainKind::kCategorical) {
    text = "categorical";
    for (const Value& choice : domain.choices) text += " " + to_text(choice);
  } else {
    const bool is_int = domain.kind == DomainKind::kInt;
    text = fmt::format("{} {} {}", is_int ? "int" : "float", domain.low, domain.high);
    if (domain.step > (is_int ? 1 : 0)) text += fmt::format(" step {}", domain.step);
    if (domain.log) text += " log";
  }
  if (domain.when)
    text += fmt::format(" when {}={}", domain.when->parent, to_text(domain.when->values[0]));
  return text;
}

StudyConfig written(const ForeignSpace& space) {
  const std::string text = write_space_file(space, "s", "file");
  const auto config = load_study_config(text, "written");
  if (!config) ADD_FAILURE() << config.error().message << "\n" << text;
  return config.value_or(StudyConfig{});
}

ForeignSpace read(const std::string& text) {
  auto space = read_foreign_space(text, "file");
  if (!space) ADD_FAILURE() << space.error().message << "\n" << text;
  return space.value_or(ForeignSpace{});
}

// Case: a parameter called x, its domain, and whether it differs from the original.
struct Case {
  const char *text, *domain;
  bool has_remark = false;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.text;
}

class ForeignWord : public testing::TestWithParam<Case> {};

TEST_P(ForeignWord, BecomesItsDomain) {
  const ForeignSpace space = read(GetParam().text);
  const ForeignParameter* x = nullptr;
  for (const ForeignParameter& one : space.parameters)
    if (one.domain.name == "x") x = &one;
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(described(written(space).space, "x"), GetParam().domain);
  EXPECT_EQ(!x->remarks.empty(), GetParam().has_remark);
}

const Case kNni[] = {
    {R"({"x": {"_type": "choice", "_value": [2, "a", 0.5]}})", "categorical 2 a 0.5"},
    {R"({"x": {"_type": "randint", "_value": [1, 9]}})", "int 1 8"},
    {R"({"x": {"_type": "randint", "_value": [9]}})", "int 0 8"},
    {R"({"x": {"_type": "uniform", "_value": [0, 1]}})", "float 0 1"},
    {R"({"x": {"_type": "quniform", "_value": [0, 10, 2.5]}})", "float 0 10 step 2.5"},
    {R"({"x": {"_type": "quniform", "_value": [2, 10, 5]}})", "int 5 10 step 5", true},
    {R"({"x": {"_type": "quniform", "_value": [4, 11, 5]}})", "int 5 10 step 5"},
    {R"({"x": {"_type": "quniform", "_value": [0, 9, 5]}})", "int 0 5 step 5", true},
    {R"({"x": {"_type": "loguniform", "_value": [0.0001, 0.1]}})", "float 0.0001 0.1 log"},
    {R"({"x": {"_type": "qloguniform", "_value": [8, 256, 8]}})", "int 8 256 step 8 log"},
    {R"({"x": {"_type": "normal", "_value": [1, 0.5]}})", "float -0.5 2.5", true},
    {R"({"x": {"_type": "qnormal", "_value": [10, 2, 4]}})", "int 4 16 step 4", true},
    {R"({"x": {"_type": "lognormal", "_value": [0, 0]}})", "float 1 1 log", true},
    {R"({"x": {"_type": "qlognormal", "_value": [0, 1, 1]}})", "int 1 20 log", true}};
INSTANTIATE_TEST_SUITE_P(Nni, ForeignWord, testing::ValuesIn(kNni));

#define SWEEP "method: random\nparameters: {y: {values: [1, 2]}, x: "
const Case kWandb[] = {
    {SWEEP "{values: [adam, 2, true]}}", "categorical adam 2 true"},
    {SWEEP "{values: [no, Yes, y, 'no']}}", "categorical false true y no"},
    {SWEEP "{values: [010, 0x1F, 0b11, 1_000, -1:30, -0o7]}}", "categorical 8 31 3 1000 -90 -0o7"},
    {SWEEP "{values: [1e5, 1.0e5, 1.0e+5, 1_0.5, .5]}}", "categorical 1e5 1.0e5 100000 10.5 0.5"},
    {SWEEP "{values: [3.10, 007, '007', '3.10']}}", "categorical 3.1 7 007 3.10"},
    {SWEEP "{values: [Null, 3]}}", "categorical None 3", true},
    {SWEEP "{min: 1e-5, max: 1e-1}}", "float 1e-05 0.1"},
    {SWEEP "{min: 010, max: 1_0}}", "int 8 10"},
    {SWEEP "{min: '0.1', max: 1.0}}", "float 0.1 1"},
    {SWEEP "{values: [1, null]}}", "categorical 1 None", true},
    {SWEEP "{values: [[8, 8], [16]]}}", "categorical [8, 8] [16]", true},
    {SWEEP "{values: [1, 2], probabilities: [0.5, 0.5]}}", "categorical 1 2", true},
    {SWEEP "{distribution: categorical, values: [1, 2]}}", "categorical 1 2"},
    {SWEEP "{value: 3}}", "never"},
    {SWEEP "{min: 1, max: 8}}", "int 1 8"},
    {SWEEP "{min: 1.0, max: 8}}", "float 1 8"},
    {SWEEP "{min: 0.0, max: 1.0}}", "float 0 1"},
    {SWEEP "{distribution: int_uniform, min: 1, max: 8}}", "int 1 8"},
    {SWEEP "{distribution: uniform, min: 1, max: 8}}", "float 1 8"},
    {SWEEP "{distribution: q_uniform, min: 2, max: 10, q: 5}}", "int 0 10 step 5"},
    {SWEEP "{distribution: q_uniform, min: 1, max: 4}}", "int 1 4"},
    {SWEEP "{distribution: log_uniform, min: 0, max: 0}}", "float 1 1 log"},
    {SWEEP "{distribution: log_uniform_values, min: 0.001, max: 1}}", "float 0.001 1 log"},
    {SWEEP "{distribution: q_log_uniform, q: 1, min: 3.4657359027997265, max: 5.545177444479562}}",
     "int 32 256 log"},
    {SWEEP "{distribution: q_log_uniform_values, min: 0.2, max: 9}}", "int 1 9 log", true},
    {SWEEP "{distribution: inv_log_uniform, min: 0, max: 2}}", "float 0.1353352832366127 1 log"},
    {SWEEP "{distribution: inv_log_uniform_values, min: 0.01, max: 1}}", "float 0.01 1 log"},
    {SWEEP "{distribution: normal}}", "float -3 3", true},
    {SWEEP "{distribution: q_normal, mu: 10, sigma: 2}}", "int 4 16", true},
    {SWEEP "{distribution: log_normal, mu: 0, sigma: 0}}", "float 1 1 log", true},
    {SWEEP "{distribution: q_log_normal, mu: 3, sigma: 0, q: 4}}", "int 20 20 step 4 log", true}};
INSTANTIATE_TEST_SUITE_P(Wandb, ForeignWord, testing::ValuesIn(kWandb));

#define OPTUNA(NAME, ATTRIBUTES) R"({"x": {"name": ")" NAME R"(", "attributes": {)" ATTRIBUTES "}}}"
const Case kOptuna[] = {
    {OPTUNA("FloatDistribution", R"("step": null, "low": 1e-05, "high": 0.1, "log": true)"),
     "float 1e-05 0.1 log"},
    {OPTUNA("FloatDistribution", R"("step": 0.25, "low": 0.5, "high": 1.5, "log": false)"),
     "float 0.5 1.5 step 0.25"},
    {OPTUNA("IntDistribution", R"("log": false, "step": 3, "low": 2, "high": 9)"),
     "int 2 9 step 3"},
    {OPTUNA("IntDistribution", R"("log": true, "step": 1, "low": 1, "high": 64)"), "int 1 64 log"},
    {OPTUNA("CategoricalDistribution", R"("choices": ["a", 2, true, null])"),
     "categorical a 2 true None", true},
    {OPTUNA("UniformDistribution", R"("low": 0, "high": 1)"), "float 0 1"},
    {OPTUNA("LogUniformDistribution", R"("low": 0.01, "high": 1)"), "float 0.01 1 log"},
    {OPTUNA("DiscreteUniformDistribution", R"("low": 0.1, "high": 0.5, "q": 0.2)"),
     "float 0.1 0.5 step 0.2"},
    {OPTUNA("IntUniformDistribution", R"("low": 1, "high": 9, "step": 2)"), "int 1 9 step 2"},
    {OPTUNA("IntLogUniformDistribution", R"("low": 1, "high": 9, "step": 1)"), "int 1 9 log"},
    {"{'x': {'name': 'FloatDistribution', 'attributes': "
     "{'step': None, 'low': 0.001, 'high': 1.0, 'log': True}}}",
     "float 0.001 1 log"},
    {OPTUNA("FloatDistribution", R"("low": 0.1, "high": 1, "log": null)"), "float 0.1 1"},
    {R"({"x": "{\"name\": \"IntUniformDistribution\", \"attributes\": {\"low\": 1, \"high\": 9}}"})",
     "int 1 9"}};
INSTANTIATE_TEST_SUITE_P(Optuna, ForeignWord, testing::ValuesIn(kOptuna));

const Case kRay[] = {
    {"x: tune.uniform(-5, -1)", "float -5 -1"},
    {"x: tune.uniform(lower=0, upper = 2)", "float 0 2"},
    {"x: quniform(3.2, 5.4, 0.2)", "float 3.2 5.4 step 0.2"},
    {"x: ray.tune.loguniform(1e-4, 1e-1, base=10)", "float 0.0001 0.1 log"},
    {"x: loguniform(1e-4, 1e-1, 10)", "float 0.0001 0.1 log"},
    {"x: tune.qloguniform(1e-4, 1e-1, 5e-5)", "float 0.0001 0.1 step 5e-05 log"},
    {"x: tune.randn(10, 2)", "float 4 16", true},
    {"x: tune.randn()", "float -3 3", true},
    {"x: tune.qrandn(10, 2, 0.5)", "float 4 16 step 0.5", true},
    {"x: tune.randint(-9, 15)", "int -9 14"},
    {"x: tune.qrandint(-21, 12, 3)", "int -21 12 step 3"},
    {"x: tune.qrandint(1, 5)", "int 1 5"},
    {"x: tune.lograndint(1, 10)", "int 1 9 log"},
    {"x: tune.qlograndint(2, 10, 2)", "int 2 10 step 2 log"},
    {R"J({"x": "tune.choice(['a', \"b\", 3, True, None])"})J", "categorical a b 3 true None"},
    {"x: tune.choice([1_000, 0x10, False, 1e5, yes])", "categorical 1000 16 false 100000 yes"},
    {"x: tune.randint(1_000, 2_000)", "int 1000 1999"},
    {"x: tune.grid_search([32, 64])", "categorical 32 64", true},
    {"{y: 'randint(0, 2)', x: 'relu(1)'}", "never", true},
    {"{y: 'randint(0, 2)', x: 10}", "never"}};
INSTANTIATE_TEST_SUITE_P(Ray, ForeignWord, testing::ValuesIn(kRay));

TEST(ForeignSpace, NestedChoicesOfNniBecomeConditions) {
  const StudyConfig config = written(read(
      R"({"op": {"_type": "choice", "_value": [{"_name": "none"}, {"_name": "conv",
           "kernel": {"_type": "randint", "_value": [1, 4]},
           "norm": {"_type": "choice", "_value": [{"_name": "batch",
             "momentum": {"_type": "uniform", "_value": [0.1, 0.9]}}, "no"]}}]}})"));
  EXPECT_EQ(described(config.space, "op"), "categorical none conv");
  EXPECT_EQ(described(config.space, "op.conv.kernel"), "int 1 3 when op=conv");
  EXPECT_EQ(described(config.space, "op.conv.norm"), "categorical batch no when op=conv");
  EXPECT_EQ(described(config.space, "op.conv.norm.batch.momentum"),
            "float 0.1 0.9 when op.conv.norm=batch");
  const std::vector<std::string> run = {
      "python3",
      "train.py",
      "--op={op}",
      "--op.conv.kernel={op.conv.kernel}",
      "--op.conv.norm={op.conv.norm}",
      "--op.conv.norm.batch.momentum={op.conv.norm.batch.momentum}"};
  EXPECT_EQ(config.command->run, run);
}

TEST(ForeignSpace, ASweepKeepsItsProgramItsMetricAndItsSearch) {
  const ForeignSpace space = read(
      "program: train.py\nname: my sweep\nmethod: bayes\nmetric: {name: acc, goal: maximize}\n"
      "parameters: {lr: {min: 0.0, max: 1.0}, net: {parameters: {width: {min: 1, max: 8}}}}\n"
      "early_terminate: {type: hyperband, max_iter: 27, s: 2}\nrun_cap: 30\n");
  EXPECT_EQ(space.study, "my sweep");
  const StudyConfig config = written(space);
  const std::vector<std::string> run = {"python3", "train.py", "--lr={lr}",
                                        "--net.width={net.width}"};
  EXPECT_EQ(config.command->run, run);
  EXPECT_EQ(config.command->steps, 27);
  EXPECT_EQ(config.objectives.at(0).metric, "acc");
  EXPECT_EQ(config.objectives.at(0).direction, Direction::kMaximize);
  EXPECT_EQ(config.algorithm.name, "gp");
  EXPECT_EQ(config.pruner.name, "hyperband");
  EXPECT_EQ(config.pruner.options.at("min_resource"), "3");
  EXPECT_EQ(config.pruner.options.at("reduction_factor"), "3");
  EXPECT_EQ(config.budget, "30trials");
}

TEST(ForeignSpace, ASweepThatCountsFromItsFirstBracketNeedsNoLastStep) {
  const StudyConfig config =
      written(read("program: train.py\nmethod: grid\nparameters: {lr: {values: [1, 2]}}\n"
                   "early_terminate: {type: hyperband, min_iter: 4, eta: 2}\n"));
  EXPECT_EQ(config.pruner.name, "asha");
  EXPECT_EQ(config.pruner.options.at("min_resource"), "4");
  EXPECT_EQ(config.pruner.options.at("reduction_factor"), "2");
  EXPECT_EQ(config.command->steps, 0);
  EXPECT_EQ(config.algorithm.name, "sobol");
}

TEST(ForeignSpace, TheFirstBracketOfASweepBeginsAtAWholeStep) {
  for (const auto& [stop, first] : {std::pair("max_iter: 20, s: 2", "2"),
                                    {"max_iter: 8, s: 3", "1"},
                                    {"max_iter: 20, s: 2, eta: 4", "1"}}) {
    const ForeignSpace space =
        read(SWEEP "{value: 1}}\nearly_terminate: {type: hyperband, " + std::string(stop) + "}");
    EXPECT_EQ(written(space).pruner.options.at("min_resource"), first) << stop;
  }
}

TEST(ForeignSpace, TheTargetOfASweepIsOnItsSide) {
  const std::string sweep = SWEEP "{value: 1}}\nmetric: {name: a, target: 0.9, goal: ";
  EXPECT_TRUE(read(sweep + "maximize}").remarks.at(0).ends_with("--target 'a>=0.9'"));
  EXPECT_TRUE(read(sweep + "minimize}").remarks.at(0).ends_with("--target 'a<=0.9'"));
}

TEST(ForeignSpace, TheMacrosOfACommandAreFilledIn) {
  const StudyConfig config =
      written(read("program: a b.py\nmethod: random\nparameters: {lr: {values: [1, 2]}}\n"
                   "command: ['${env}', OMP=1, '${interpreter}', -u, '${program}', go, "
                   "'${args_no_hyphens}']\n"));
  const std::vector<std::string> run = {"/usr/bin/env", "OMP=1", "python3", "-u",
                                        "a b.py",       "go",    "lr={lr}"};
  EXPECT_EQ(config.command->run, run);
}

struct Wrong {
  const char *text, *message;
};

class WrongForeignSpace : public testing::TestWithParam<Wrong> {};

TEST_P(WrongForeignSpace, IsAnErrorWithItsPlace) {
  const auto space = read_foreign_space(GetParam().text, "file");
  ASSERT_FALSE(space.has_value());
  EXPECT_EQ(space.error().code, ErrorCode::kInput);
  EXPECT_TRUE(space.error().message.starts_with(GetParam().message)) << space.error().message;
}

const Wrong kWrong[] = {
    {"version: 1\nstudy: s\n", "file:1:1: this is no search space of NNI"},
    {"[1, 2]", "file:1:1: this is no search space of NNI"},
    {"{", "file:"},
    {"method: random\nparameters: {}\n", "file:1:1: there is no parameter in it"},
    {"{\"y\": {\"_type\": \"uniform\", \"_value\": [0, 1]},\n \"x\": {\"_type\": \"gamma\", "
     "\"_value\": [1]}}",
     "file:2:2: x: unknown _type 'gamma'; known: randint, uniform"},
    {"{\"x\": {\"_type\": \"uniform\", \"_value\": [0]}}", "file:1:2: x: uniform needs 2 numbers"},
    {"{\"x\": {\"_type\": \"uniform\"}}", "file:1:2: x: it needs _type and a list as _value"},
    {"{\"x\": {\"_type\": \"loguniform\", \"_value\": [0, 1]}}",
     "file:1:2: x: a log range needs low above 0"},
    {"{\"x\": {\"_type\": \"randint\", \"_value\": [3, 3]}}", "file:1:2: x: low 3 is above high 2"},
    {"{\"x\": {\"_type\": \"quniform\", \"_value\": [0, 1, 0]}}",
     "file:1:2: x: the step of its rounding must be above 0"},
    {SWEEP "{distribution: beta}}", "file:2:35: x: unknown distribution 'beta'"},
    {SWEEP "{max: 1}}", "file:2:35: x: it needs a number as min"},
    {SWEEP "{values: [{a: 1}]}}", "file:2:35: x: a map cannot be one of its values"},
    {SWEEP "3}", "file:2:35: x: a parameter is a map"},
    {"method: best\nparameters: {x: {values: [1]}}", "file:1:9: unknown method 'best'"},
    {"method: grid\nparameters: {x: {values: [1]}}\nearly_terminate: {type: median}",
     "file:3:1: early_terminate: unknown type 'median'"},
    {"method: grid\nparameters: {x: {values: [1]}}\ncommand: [python, '${args_json}']",
     "file:3:19: command: '${args_json}' has no equal"},
    {SWEEP "{min: 0, max: 1, distrubution: log_uniform_values}}",
     "file:2:35: x: unknown key 'distrubution'; did you mean 'distribution'?"},
    {SWEEP "{distribution: categorically, values: [1]}}",
     "file:2:35: x: unknown distribution 'categorically'; did you mean 'categorical'?"},
    {SWEEP "{distribution: [uniform], min: 0, max: 1}}",
     "file:2:35: x: distribution must be a word"},
    {SWEEP "{min: low, max: 1}}", "file:2:35: x: it needs a number as min, not 'low'"},
    {SWEEP "{min: yes, max: 1}}", "file:2:35: x: it needs a number as min, not 'true'"},
    {SWEEP "{values: 3}}", "file:2:35: x: categorical needs values, which is a list"},
    {SWEEP "{values: [no, off]}}", "file:2:35: x: the choice false is there twice"},
    {SWEEP "{parameters: {z: {value: 1}}, min: 0}}", "file:2:35: x: parameters is a map of them"},
    {SWEEP "{value: 1}}\nearly_termniate: {type: hyperband, min_iter: 3}",
     "file:3:1: unknown key 'early_termniate'; did you mean 'early_terminate'?"},
    {SWEEP "{value: 1}}\nearly_terminate: {type: hyperband, min_itr: 3}",
     "file:3:1: early_terminate: unknown key 'min_itr'; did you mean 'min_iter'?"},
    {SWEEP "{value: 1}}\nearly_terminate: hyperband", "file:3:18: early_terminate must be a map"},
    {SWEEP "{value: 1}}\nrun_cap: many", "file:3:10: run_cap is 'many'; it must be a whole"},
    {SWEEP "{value: 1}}\nrun_cap: 0", "file:3:10: run_cap is '0'; it must be a whole"},
    {SWEEP "{value: 1}}\nrun_cap: 1.5", "file:3:10: run_cap is '1.5'; it must be a whole"},
    {SWEEP "{value: 1}}\nprogram: [a, b]", "file:3:1: program must be a word"},
    {SWEEP "{value: 1}}\ncommand: python a.py", "file:3:10: command must be a list of words"},
    {SWEEP "{value: 1}}\nmetric: loss", "file:3:9: metric must be a map"},
    {SWEEP "{value: 1}}\nmetric: {goal: minimize}", "file:3:1: metric: it needs a name"},
    {SWEEP "{value: 1}}\nmetric: {name: acc, direction: maximize}",
     "file:3:1: metric: unknown key 'direction'"},
    {"method: Random\nparameters: {x: {values: [1]}}",
     "file:1:9: unknown method 'Random'; did you mean 'random'?"},
    {"{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1], \"_log\": true}}",
     "file:1:2: x: unknown key '_log'"},
    {"{\"x\": {\"_type\": \"uniform\", \"_value\": [0, \"one\"]}}",
     "file:1:2: x: uniform needs numbers, not 'one'"},
    {"{\"x\": {\"_type\": \"Choice\", \"_value\": [0, 1]}}",
     "file:1:2: x: unknown _type 'Choice'; did you mean 'choice'?"},
    {OPTUNA("FloatDistribution", R"("low": 0.1, "high": 1, "log": "true")"),
     "file:1:2: x: log is 'true'; it must be true or false"},
    {OPTUNA("FloatDistribution", R"("low": 0.1, "high": 1, "log": 1)"),
     "file:1:2: x: log is '1'; it must be true or false"},
    {OPTUNA("FloatDistribution", R"("low": 0.1, "high": 1, "logg": true)"),
     "file:1:2: x: unknown key 'logg'; did you mean 'log'?"},
    {OPTUNA("FloatDistribution", R"("low": 0.1, "high": 1, "step": "small")"),
     "file:1:2: x: it needs a number as step, not 'small'"},
    {OPTUNA("floatdistribution", R"("low": 0.1, "high": 1)"),
     "file:1:2: x: unknown distribution 'floatdistribution'; did you mean 'FloatDistribution'?"},
    {OPTUNA("CategoricalDistribution", R"("choices": 3)"), "file:1:2: x: its choices must be a"},
    {"{y: 'randint(0, 2)', x: 'loguniforms(1e-4, 1e-1)'}",
     "file:1:22: x: unknown word 'loguniforms'; did you mean 'loguniform'?"},
    {"x: tune.uniform(0, 1, lower=2)", "file:1:1: x: its argument 'lower' is given twice"},
    {"x: tune.uniform(0, 1, 2, 3)", "file:1:1: x: its argument 'base' is given twice"},
    {OPTUNA("NormalDistribution", ""), "file:1:2: x: unknown distribution 'NormalDistribution'"},
    {OPTUNA("FloatDistribution", R"("low": 1)"), "file:1:2: x: it needs a number as high"},
    {OPTUNA("CategoricalDistribution", ""), "file:1:2: x: its attributes lack the choices"},
    {"x: tune.sample_from(f)", "file:1:1: x: unknown word 'sample_from'"},
    {"x: tune.uniform(0)", "file:1:1: x: uniform lacks its upper"},
    {"x: tune.uniform(0, 1, q=2)", "file:1:1: x: uniform has no argument 'q'"},
    {"x: tune.uniform(a, b)", "file:1:1: x: its argument 1 is no number"},
    {"x: tune.choice(3)", "file:1:1: x: choice needs a list"},
    {"x: tune.randint(0.5, 3)", "file:1:1: x: randint needs whole numbers"}};
INSTANTIATE_TEST_SUITE_P(All, WrongForeignSpace, testing::ValuesIn(kWrong));

TEST(ForeignSpace, AGoalIsOneOfTwoWordsAndNeverTheOtherOne) {
  const std::string sweep = SWEEP "{value: 1}}\nmetric: {name: acc, goal: ";
  EXPECT_TRUE(read(sweep + "maximize}").maximizes);
  EXPECT_FALSE(read(sweep + "minimize}").maximizes);
  for (const std::string goal : {"maximum", "max", "Maximize", "MAXIMIZE", "minimum", "up", "''"}) {
    const auto space = read_foreign_space(sweep + goal + "}", "file");
    ASSERT_FALSE(space.has_value()) << goal;
    EXPECT_TRUE(space.error().message.starts_with("file:3:27: metric: unknown goal")) << goal;
    EXPECT_NE(space.error().message.find("known: minimize, maximize"), std::string::npos) << goal;
  }
  EXPECT_NE(read_foreign_space(sweep + "maximum}", "file").error().message.find("'maximize'?"),
            std::string::npos);
}

TEST(ForeignSpace, WhatIsLeftOutOfASweepOrReadsOtherwiseThanItLooksIsSaid) {
  const ForeignSpace space =
      read(SWEEP "{values: [no, 1e5]}}\nproject: p\nfoo: bar\nmetric: {name: acc, impute: worst}");
  const std::vector<std::string> remarks = {"the key 'foo' is left out",
                                            "the metric has no goal; without one it is minimized",
                                            "impute is left out: a trial that fails has no value",
                                            "no is false in YAML 1.1, which Python reads",
                                            "1e5 is a text in YAML 1.1, which Python reads"};
  EXPECT_EQ(space.remarks, remarks);
  const std::string file = write_space_file(space, "s", "sweep");
  for (const std::string& remark : remarks)
    EXPECT_NE(file.find("# " + remark), std::string::npos) << remark;
}

TEST(ForeignSpace, AProgramGetsTheWordsThatTheOtherToolGave) {
  const StudyConfig config = written(read(SWEEP "{values: [1.0, 3.10, 2, '2.0', 1.0e-5]}}"));
  std::vector<std::string> words;
  const double x = static_cast<double>(*config.space.index_of("x"));
  for (double code = 0; code < 5; ++code) {
    Rng rng(1);
    std::vector<double> codes(config.space.size(), 0);
    codes[static_cast<std::size_t>(x)] = code;
    words.push_back(written_parameters(config, config.space.repair(codes, rng)).at("x"));
  }
  EXPECT_EQ(words, (std::vector<std::string>{"1.0", "3.1", "2", "2.0", "1e-05"}));
}

TEST(ForeignSpace, NothingInItEscapesItsPlaceInTheFile) {
  const ForeignSpace space = read(
      "program: \"train.py\\nbudget: 1trials\"\nmethod: random\n"
      "metric: {name: \"a\\n# b\", target: \"1\\nseed: 3\"}\n"
      "parameters: {\"x\\ny: 1\": {values: [\"a\\nb\", \"'\", '\"', \"null\", \"1\"]}}\n");
  const StudyConfig config =
      load_study_config(write_space_file(space, "s", "f\nseed: 2"), "w").value();
  EXPECT_EQ(config.seed, 0U);
  EXPECT_EQ(described(config.space, "x\ny: 1"), "categorical a\nb ' \" null 1");
  EXPECT_EQ(config.objectives.at(0).metric, "a\n# b");
}

}  // namespace
}  // namespace detol
