#include "encodings/study/command.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/study/study_config.h"

namespace detol {
namespace {

using Words = std::vector<std::string>;

TEST(Placeholders, StandForTheTextOfTheirNameWhereverTheyAre) {
  EXPECT_EQ(filled_in(Words{"p", "--lr={lr}", "{lr}{n}", "a b;$(c)\n'\"", "{{n}}", "{ echo {n}; }",
                            "{\"a\": {\"b\": {n}}}", "{}{", "}}{{"},
                      {{"lr", "0.1"}, {"n", "x y"}}),
            (Words{"p", "--lr=0.1", "0.1x y", "a b;$(c)\n'\"", "{n}", "{ echo x y; }",
                   "{\"a\": {\"b\": x y}}", "{}{", "}}{{"}));
}

TEST(Placeholders, OfAnInactiveParameterTakeTheirArgumentAndAnOptionBeforeItAway) {
  const std::map<std::string, std::string, std::less<>> active = {{"lr", "0.1"}};
  EXPECT_EQ(filled_in(Words{"p", "--momentum", "{momentum}", "--lr", "{lr}"}, active),
            (Words{"p", "--lr", "0.1"}));
  EXPECT_EQ(filled_in(Words{"p", "--momentum={momentum}", "x"}, active), (Words{"p", "x"}));
  EXPECT_EQ(filled_in(Words{"p", "{momentum}", "x"}, active), (Words{"p", "x"}));
  EXPECT_EQ(filled_in(Words{"p", "--lr={lr}", "{momentum}"}, active), (Words{"p", "--lr=0.1"}));
}

TEST(Placeholders, AreNamesOfParametersOrOfTheTrial) {
  const std::vector<std::string_view> parameters = {"lr", "momentum"};
  for (const char* good : {"", "x", "{lr}", "--dir={trial.dir}", "{seed}{study}", "{{lr}}", "}}"})
    EXPECT_TRUE(check_placeholders(good, parameters)) << good;
  EXPECT_EQ(
      check_placeholders("{momentm}", parameters).error().message,
      "unknown placeholder 'momentm'; did you mean 'momentum'? known: lr, momentum, study, "
      "seed, trial.id, trial.dir, trial.checkpoint, budget.epochs, ranks; {{momentm}} stands for "
      "braces");
  for (const char* none : {"{lr", "lr}", "{", "}", "{ lr }", "{1}", "{\"a\": 1}"})
    EXPECT_TRUE(check_placeholders(none, parameters)) << none;
}

constexpr std::string_view kCommandSpace = R"(version: 1
study: mlp
command:
  run: [python, train.py, --lr, '{lr}', --momentum, '{momentum}']
  resume: [--from, '{trial.checkpoint}']
  steps: 10
  prints: {loss: 'loss ([0-9.]+)'}
  environment: {MODE: fast}
  success: [0, 3]
  stop: {signal: INT, grace: 2s}
parameters:
  opt: {type: categorical, choices: [sgd, adam]}
  lr: {type: float, low: 0.001, high: 0.1, log: true}
  momentum: {type: float, low: 0.1, high: 0.9, when: {opt: sgd}}
  epochs: 3
objectives: [{metric: loss, direction: minimize}]
constraints: [{metric: size, max: 5}]
)";

Result<StudyConfig> with(std::string_view from, std::string_view to) {
  std::string text(kCommandSpace);
  text.replace(text.find(from), from.size(), to);
  return load_study_config(text, "s.yaml");
}

TEST(CommandStudy, HasItsProgramAndWhatIsSaidOfIt) {
  const StudyConfig config = load_study_config(kCommandSpace, "s.yaml").value();
  ASSERT_TRUE(config.command);
  EXPECT_FALSE(config.trains());
  EXPECT_EQ(config.command->run.size(), 6u);
  EXPECT_EQ(config.command->resume.back(), "{trial.checkpoint}");
  EXPECT_EQ(config.max_epochs, 10);
  EXPECT_EQ(config.command->prints[0].metric, "loss");
  EXPECT_EQ(config.command->environment.at("MODE"), "fast");
  EXPECT_EQ(config.command->success, (std::vector<int>{0, 3}));
  EXPECT_EQ(config.command->stop_signal, "INT");
  EXPECT_EQ(config.command->grace_s, 2);
  EXPECT_EQ(config.keep, Keep::kBest);
  EXPECT_EQ(metric_names(config),
            (std::vector<std::string_view>{"loss", "size", kViolationMetric}));
}

TEST(CommandStudy, WithoutStepsEndsWhenTheProgramDoes) {
  const StudyConfig config = with("  steps: 10\n", "").value();
  EXPECT_EQ(config.max_epochs, kEndless);
  EXPECT_EQ(config.candidate({}, {})->recipe.epochs, kEndless);
}

TEST(CommandStudy, GivesTheProgramActiveParametersAndThoseOfOneValue) {
  const StudyConfig config = load_study_config(kCommandSpace, "s.yaml").value();
  const std::vector<std::pair<std::string, Value>> chosen = {{"opt", "adam"}, {"lr", 0.01}};
  const auto genome = config.space.genome(chosen).value();
  const auto parameters = config.parameters(genome);
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0], std::pair(std::string("epochs"), Value(std::int64_t{3})));
  EXPECT_EQ(parameters[1], std::pair(std::string("lr"), Value(0.01)));
  EXPECT_EQ(parameters[2], std::pair(std::string("opt"), Value("adam")));
}

TEST(CommandStudy, SaysWhereItIsWrong) {
  const auto error = [](std::string_view from, std::string_view to) {
    const auto config = with(from, to);
    return config ? std::string() : config.error().message;
  };
  EXPECT_EQ(
      error("'{lr}'", "'{rate}'").find("s.yaml:4:33: command.run: unknown placeholder 'rate'"), 0u);
  EXPECT_EQ(error("[python, train.py, --lr, '{lr}', --momentum, '{momentum}']", "python train.py"),
            "s.yaml:4:8: command.run must be a list of texts: [python, train.py, --lr, '{lr}']; no "
            "shell reads it");
  EXPECT_EQ(error("[python, train.py, --lr, '{lr}', --momentum, '{momentum}']", "[]"),
            "s.yaml:4:8: command.run names no program");
  EXPECT_EQ(
      error("'loss ([0-9.]+)'", "'loss [0-9.]+'"),
      "s.yaml:7:18: command.prints.loss: the expression has no group; put brackets around the "
      "number");
  EXPECT_EQ(error("'loss ([0-9.]+)'", "'loss (['").find("s.yaml:7:18: command.prints.loss: no "),
            0u);
  EXPECT_NE(error("INT", "KILL").find("stop.signal: unknown word 'KILL'"), std::string::npos);
  EXPECT_EQ(error("study: mlp", "study: mlp\ntraining: {epochs: 3}")
                .find("s.yaml:3:1: 'training' cannot stand beside 'command'"),
            0u);
}

constexpr std::string_view kNetworkSpace = R"(version: 1
study: nets
command:
  run: [train, '{network.json}', --lr, '{lr}']
  input: [1, 28, 28]
  outputs: 10
architecture:
  type: chain
  stages: [{depth: {type: int, low: 1, high: 3}, block: {op: conv, kernel: 3}}]
  constraints: {max_params: 5.0e+5}
parameters:
  lr: {type: float, low: 0.001, high: 0.1}
objectives: [{metric: accuracy, direction: maximize}, {metric: params, direction: minimize}]
constraints: [{metric: flops, max: 1.0e+7}]
)";

Result<StudyConfig> network_space(std::string_view from, std::string_view to) {
  std::string text(kNetworkSpace);
  text.replace(text.find(from), from.size(), to);
  return load_study_config(text, "s.yaml");
}

TEST(CommandWithNetworks, HasCandidatesOfItsShapes) {
  const StudyConfig config = load_study_config(kNetworkSpace, "s.yaml").value();
  EXPECT_FALSE(config.trains());
  EXPECT_TRUE(config.has_networks());
  EXPECT_TRUE(config.space.has_graph());
  const std::vector<std::pair<std::string, Value>> chosen = {
      {"architecture.stages[0].depth", std::int64_t{2}}, {"lr", 0.01}};
  const Genome genome = config.space.genome(chosen).value();
  const auto candidate = config.candidate(genome, {});
  ASSERT_TRUE(candidate) << candidate.error().reason;
  EXPECT_EQ(candidate->network.input_shape(), (Shape{1, 28, 28}));
  EXPECT_EQ(candidate->network.output().shape, (Shape{10, 1, 1}));
  EXPECT_GT(candidate->cost.params, 0);
  EXPECT_NE(candidate->arch_hash, 0u);
  EXPECT_EQ(candidate->recipe.epochs, kEndless);
  ASSERT_EQ(config.parameters(genome).size(), 1u)
      << "choices of the architecture are no parameters";
}

TEST(CommandWithNetworks, KnowsTheirCostsWithoutTheProgram) {
  const StudyConfig config = load_study_config(kNetworkSpace, "s.yaml").value();
  EXPECT_EQ(reported_metrics(config), std::vector<std::string_view>{"accuracy"});
  EXPECT_EQ(metric_names(config),
            (std::vector<std::string_view>{"accuracy", "params", "flops", kViolationMetric}));
  EXPECT_EQ(config.constraints.max_params, 5e5);
  EXPECT_EQ(config.constraints.max_flops, 1e7);
  const StudyConfig small = network_space("5.0e+5", "10").value();
  Rng rng(1);
  const auto refused = small.candidate(small.space.sample(rng), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::kTooLarge);
}

TEST(CommandWithNetworks, ReadVectorsSequencesAndImages) {
  const auto input = [](std::string_view text) {
    return network_space("[1, 28, 28]", text)->network_task->input;
  };
  EXPECT_EQ(input("[20]"), (Shape{20, 1, 1}));
  EXPECT_EQ(input("[2, 100]"), (Shape{2, 1, 100}));
  EXPECT_EQ(input("[3, 32, 64]"), (Shape{3, 32, 64}));
  EXPECT_EQ(network_space("outputs: 10", "task: binary")->network_task->classes, 1);
}

TEST(CommandWithNetworks, MayHaveNoOtherParameters) {
  const auto config =
      network_space("parameters:\n  lr: {type: float, low: 0.001, high: 0.1}\n", "");
  ASSERT_FALSE(config) << "{lr} stands in an argument";
  std::string text(kNetworkSpace);
  for (const std::string_view gone :
       {"parameters:\n  lr: {type: float, low: 0.001, high: 0.1}\n", ", --lr, '{lr}'"})
    text.replace(text.find(gone), gone.size(), "");
  const StudyConfig alone = load_study_config(text, "s.yaml").value();
  Rng rng(1);
  EXPECT_TRUE(alone.parameters(alone.space.sample(rng)).empty());
}

TEST(CommandWithNetworks, SayWhereTheyAreWrong) {
  const auto error = [](std::string_view from, std::string_view to) {
    const auto config = network_space(from, to);
    return config ? std::string() : config.error().message;
  };
  const std::string wrong_input =
      "command.input: an architecture needs it: [channels, height, width] of an image, [channels, "
      "length] of a sequence or [numbers] of a vector, each from 1 to 1048576";
  EXPECT_EQ(error("  input: [1, 28, 28]\n", ""), "s.yaml:3:1: " + wrong_input);
  for (const char* bad : {"[1, 28, 28, 2]", "[]", "28", "[1, 0, 28]", "[1, x, 28]", "[2000000]"})
    EXPECT_EQ(error("[1, 28, 28]", bad), "s.yaml:5:10: " + wrong_input) << bad;
  EXPECT_EQ(error("  outputs: 10\n", ""),
            "s.yaml:3:1: command.outputs: an architecture needs it: the number of classes, labels "
            "or targets");
  EXPECT_EQ(error("outputs: 10", "outputs: 2\n  task: binary"),
            "s.yaml:6:12: command.outputs: task binary has a single one");
  EXPECT_EQ(error("max_params: 5.0e+5", "max_memory: 1GB").find("s.yaml:10:29: architecture."), 0u)
      << error("max_params: 5.0e+5", "max_memory: 1GB");
  EXPECT_EQ(error("'{network.json}'", "'{network.xml}'")
                .find("s.yaml:4:16: command.run: unknown placeholder 'network.xml'"),
            0u);
  EXPECT_EQ(with("  steps: 10", "  steps: 10\n  outputs: 3").error().message,
            "s.yaml:7:12: command.outputs: it says what networks are made for, and there is no "
            "'architecture'");
}

TEST(CommandStudy, RunsInTheFolderInWhichItWasBegun) {
  const StudyConfig config = read_study_text(kCommandSpace, "s.yaml").value();
  EXPECT_TRUE(config.command->folder.starts_with("/")) << config.command->folder;
  EXPECT_EQ(load_study_config(config.text, "again")->command->folder, config.command->folder);
}

}  // namespace
}  // namespace detol
