// Errors of bad space files: a line per mistake with its place and the remedy.
// Each row edits the good file below.

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"

namespace detol {
namespace {

constexpr std::string_view kGood = R"(version: 1
study: small
seed: 7
data: {format: idx, path: /data, split: {validation: 0.2}}
architecture:
  type: chain
  stem: {op: conv_bn_relu, channels: {type: categorical, choices: [8, 16]}}
  stages:
    - repeat: 2
      depth: {type: int, low: 1, high: 3}
      block:
        op: {type: categorical, choices: [conv, mbconv]}
        kernel: 3
        expansion: {type: categorical, choices: [2, 4], when: {op: mbconv}}
  constraints: {max_params: 1.0e6, max_memory: 400MB}
parameters:
  optimizer: {type: categorical, choices: [sgd, adamw]}
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
  momentum: {type: float, low: 0.8, high: 0.99, when: {optimizer: sgd}}
training: {epochs: 3, schedule: {name: cosine, warmup_epochs: 1}}
objectives: [{metric: val_accuracy, direction: maximize}]
search: {algorithm: evolution, pruner: {name: asha, min_resource: 1}, initial_trials: []}
budget: 10cpu-min
resources: {workers: auto, max_trial_duration: 2h}
)";

struct Case {
  std::string name;
  std::string good;  // occurs once in the good file
  std::string bad;
  std::string message;  // how the error begins
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.bad;
}

const std::vector<Case> kCases = {
    {"UnknownKey", "training:", "trainin:",
     "s.yaml:20:1: unknown key 'trainin'; did you mean 'training'? known: version, study"},
    {"UnknownKeyInASection", "epochs: 3", "epoch: 3",
     "s.yaml:20:12: training: unknown key 'epoch'; did you mean 'epochs'? known: epochs, loss"},
    {"UnknownCompression", "epochs: 3", "epochs: 3, compression: fp15",
     "s.yaml:20:36: training.compression: unknown word 'fp15'; did you mean 'fp16'? known: none, "
     "fp16, top_k"},
    {"CompressionThatSendsNothing", "epochs: 3", "epochs: 3, compression: {name: top_k, share: 0}",
     "s.yaml:20:57: training.compression.share"},
    {"NegativeStaleness", "epochs: 3", "epochs: 3, staleness: -1",
     "s.yaml:20:34: training.staleness"},
    {"UnknownKeyOfAChoice", "high: 3}", "hi: 3}",
     "s.yaml:10:34: architecture.stages[0].depth: unknown key 'hi'; did you mean 'high'? known: "
     "type, low, high"},
    {"UnknownKeyOfAStage", "repeat: 2", "repeats: 2",
     "s.yaml:9:7: architecture.stages[0]: unknown key 'repeats'; did you mean 'repeat'?"},
    {"DuplicateKey", "seed: 7", "seed: 7\nseed: 8",
     "s.yaml:4:1: duplicate key 'seed'; the first is in line 3"},
    {"DuplicateKeyDeepInside", "kernel: 3", "kernel: 3\n        kernel: 5",
     "s.yaml:14:9: duplicate key 'kernel'; the first is in line 13"},
    {"MissingSection", "training: {epochs: 3, schedule: {name: cosine, warmup_epochs: 1}}", "",
     "s.yaml:1:1: the key 'training' is missing; it must be a map with the keys epochs"},
    {"KeyOfAnotherFormat", "path: /data, ", "path: /data, label: first, ",
     "s.yaml:4:41: data.label is for format csv, cifar, hdf5; leave it out"},
    {"UnknownInheritance", "search: {", "search: {inherit: parents, ",
     "s.yaml:22:19: search.inherit: unknown word 'parents'; did you mean 'parent'? known: none, "
     "parent, nearest"},
    {"UnknownFit", "format: idx, path: /data, ",
     "format: image_folder, path: /data, size: 64, fit: padd, ",
     "s.yaml:4:58: data.fit: unknown word 'padd'; did you mean 'pad'? known: crop, pad, stretch"},
    {"FitWithoutASize", "format: idx, path: /data, ",
     "format: image_folder, path: /data, fit: pad, ",
     "s.yaml:4:48: data.fit says how pictures become a square of data.size; say it"},
    {"FitOfAFormatWithoutPictures", "path: /data, ", "path: /data, fit: pad, ",
     "s.yaml:4:39: data.fit is for format image_folder, webdataset; leave it out"},
    {"UnknownTask", "path: /data, ", "path: /data, task: regresion, ",
     "s.yaml:4:40: data.task: unknown word 'regresion'; did you mean 'regression'? known: "
     "classification, binary, multi_label, regression"},
    {"MetricOfAnotherTask", "path: /data, ", "path: /data, task: regression, ",
     "s.yaml:21:23: objectives[0].metric: unknown word 'val_accuracy'; known: val_loss"},
    {"LossOfAnotherTask", "epochs: 3", "loss: mse, epochs: 3",
     "s.yaml:20:18: training.loss: mse is no loss of data.task classification; accepted: "
     "cross_entropy"},
    {"ChoiceOfALossOfAnotherTask", "epochs: 3",
     "loss: {type: categorical, choices: [cross_entropy, huber]}, epochs: 3",
     "s.yaml:20:18: training.loss: huber is no loss of data.task classification; accepted: "
     "cross_entropy"},
    {"UnknownClassWeights", "epochs: 3", "class_weights: balance, epochs: 3",
     "s.yaml:20:27: training.class_weights: unknown word 'balance'; did you mean 'balanced'? "
     "known: none, balanced, sqrt"},
    {"ListOfLabelsForOneClass", "format: idx, path: /data, ",
     "format: csv, path: /data, label: [a, b], ",
     "s.yaml:4:41: data.label: 2 columns, but data.task classification takes one"},
    {"SameLabelTwice", "format: idx, path: /data, ", "format: csv, path: /data, label: [a, a], ",
     "s.yaml:4:45: data.label: a is there twice"},
    {"MissingKey", "path: /data, ", "", "s.yaml:4:7: data: the key 'path' is missing"},
    {"MissingBound", "low: 1, ", "",
     "s.yaml:10:14: architecture.stages[0].depth: the key 'low' is missing"},
    {"WrongVersion", "version: 1", "version: 2", "s.yaml:1:10: version is '2'; it must be 1"},
    {"TextForANumber", "epochs: 3", "epochs: three",
     "s.yaml:20:20: training.epochs is 'three'; it must be a whole number from 1 to 100000"},
    {"QuotedNumber", "epochs: 3", "epochs: \"3\"", "s.yaml:20:20: training.epochs is '3'"},
    {"FractionForAWholeNumber", "seed: 7", "seed: 7.5", "s.yaml:3:7: seed is '7.5'"},
    {"TooLargeForAnyInteger", "seed: 7", "seed: 99999999999999999999", "s.yaml:3:7: seed is"},
    {"Negative", "seed: 7", "seed: -1",
     "s.yaml:3:7: seed is '-1'; it must be a whole number from 0"},
    {"NotFinite", "validation: 0.2", "validation: .inf",
     "s.yaml:4:54: data.split.validation is '.inf'; it must be a number from 0.001 to 0.9"},
    {"OutOfRange", "validation: 0.2", "validation: 1.2",
     "s.yaml:4:54: data.split.validation is '1.2'; it must be a number from 0.001 to 0.9"},
    {"MapForAWord", "study: small", "study: {a: b}",
     "s.yaml:2:8: study is a map; it must be a word"},
    {"ListForASection", "{epochs: 3, schedule: {name: cosine, warmup_epochs: 1}}", "[3]",
     "s.yaml:20:11: training is a list; it must be a map with the keys epochs"},
    {"EmptyValue", "study: small", "study:", "s.yaml:2:1: study is empty; it must be a word"},
    {"NoObjective", "[{metric: val_accuracy, direction: maximize}]", "[]",
     "s.yaml:21:13: objectives is empty; it needs at least one item"},
    {"UnknownMetric", "metric: val_accuracy", "metric: val_acuracy",
     "s.yaml:21:23: objectives[0].metric: unknown word 'val_acuracy'; did you mean "
     "'val_accuracy'?"},
    {"UnknownDirection", "direction: maximize", "direction: maximise",
     "s.yaml:21:48: objectives[0].direction: unknown word 'maximise'; did you mean 'maximize'?"},
    {"SameObjectiveTwice", "direction: maximize}",
     "direction: maximize}, {metric: val_accuracy, direction: minimize}",
     "s.yaml:21:59: objectives: val_accuracy is there twice"},
    {"BatchOfAnotherMetric", "direction: maximize}", "direction: maximize, batch: 64}",
     "s.yaml:21:65: objectives[0].batch: it is a key of the metric latency"},
    {"LatencyOfTwoBatches", "direction: maximize}",
     "direction: maximize}, {metric: latency, direction: minimize, batch: 2}]\n"
     "constraints: [{metric: latency, max: 1, batch: 4}",
     "s.yaml:22:48: constraints[0].batch: latency is measured at one batch, and elsewhere it is 2"},
    {"EpochsToNoTarget", "direction: maximize}",
     "direction: maximize}, {metric: epochs_to_target, direction: minimize}",
     "s.yaml:21:59: objectives[1].target: epochs_to_target needs it, such as target: "
     "val_accuracy>=0.9"},
    {"TargetOfAnUnknownMetric", "direction: maximize}",
     "direction: maximize}, {metric: epochs_to_target, direction: minimize, target: "
     "val_acuracy>=0.9}",
     "s.yaml:21:115: objectives[1].target: unknown metric 'val_acuracy'; did you mean "
     "'val_accuracy'?"},
    {"ConstraintWithoutABound", "direction: maximize}]",
     "direction: maximize}]\nconstraints: [{metric: val_loss}]",
     "s.yaml:22:15: constraints[0].max: a constraint needs 'min', 'max' or both"},
    {"ConstraintThatNothingMeets", "direction: maximize}]",
     "direction: maximize}]\nconstraints: [{metric: val_loss, min: 2, max: 1}]",
     "s.yaml:22:39: constraints[0].min: 2 is above max, 1"},
    {"StudyNameThatIsNoFolder", "study: small", "study: ../up", "s.yaml:2:8: study names a folder"},
    {"UnknownEncoding", "type: chain", "type: chian",
     "s.yaml:6:9: architecture.type: unknown encoding 'chian'; did you mean 'chain'? known: chain"},
    {"UnknownOperation", "choices: [conv, mbconv]", "choices: [conv, mbconf]",
     "s.yaml:12:49: architecture.stages[0].block.op.choices: unknown word 'mbconf'; did you mean "
     "'mbconv'?"},
    {"UnknownFixedOperation", "{type: categorical, choices: [conv, mbconv]}", "convv",
     "s.yaml:12:13: architecture.stages[0].block.op: unknown word 'convv'; did you mean 'conv'?"},
    {"UnknownParameter", "  lr:", "  learning_rate:",
     "s.yaml:18:3: parameters: unknown key 'learning_rate'; write lr; known: opti"},
    {"UnknownOptimizer", "[sgd, adamw]", "[sgd, adm]",
     "s.yaml:17:49: parameters.optimizer.choices: unknown word 'adm'; did you mean 'adam'?"},
    {"EvenKernel", "kernel: 3", "kernel: 4",
     "s.yaml:13:17: architecture.stages[0].block.kernel is '4'; it must be an odd whole number"},
    {"KernelsThatBecomeEven", "kernel: 3", "kernel: {type: int, low: 3, high: 7}",
     "s.yaml:13:17: architecture.stages[0].block.kernel must be odd; give an even step"},
    {"UnknownType", "{type: int, low: 1, high: 3}", "{type: integer, low: 1, high: 3}",
     "s.yaml:10:21: architecture.stages[0].depth.type: unknown word 'integer'; write int; known"},
    {"TypeThatDoesNotFit", "depth: {type: int,", "depth: {type: float,",
     "s.yaml:10:21: architecture.stages[0].depth must be a whole number from 0 to 64, which a "
     "float choice cannot be; accepted: int, categorical"},
    {"KeyOfAnotherType", "choices: [sgd, adamw]", "choices: [sgd, adamw], low: 1",
     "s.yaml:17:57: parameters.optimizer: unknown key 'low'; known: type, choices, ordered"},
    {"ChoiceWhereNoneMayBe", "workers: auto", "workers: {type: int, low: 1, high: 2}",
     "s.yaml:24:22: resources.workers is a map; it must be a whole number from 1 to 100000 or "
     "auto and cannot be searched"},
    {"LogOfZero", "low: 1.0e-4", "low: 0",
     "s.yaml:18:26: parameters.lr: low is '0'; it must be a number from 1e-12 to 1000"},
    {"LogOfZeroWhereZeroIsFine", "low: 0.8, high: 0.99", "low: 0, high: 0.9, log: true",
     "s.yaml:19:13: momentum: a log range needs low above 0"},
    {"EmptyRange", "low: 1.0e-4", "low: 0.5", "s.yaml:18:7: lr: low 0.5 is above high 0.1"},
    {"RangeBeyondTheField", "high: 0.99", "high: 1.5",
     "s.yaml:19:43: parameters.momentum: high is '1.5'; it must be a number from 0 to 0.9999"},
    {"NoChoices", "choices: [8, 16]", "choices: []",
     "s.yaml:7:38: architecture.stem.channels: choices is empty; give at least one"},
    {"SameChoiceTwice", "choices: [8, 16]", "choices: [8, 8]",
     "s.yaml:7:38: architecture.stem.channels: the choice 8 is there twice"},
    {"ChoicesThatAreNoList", "choices: [8, 16]", "choices: 8",
     "s.yaml:7:67: architecture.stem.channels.choices must be a list, as [a, b]"},
    {"ChoiceBeyondTheField", "choices: [8, 16]", "choices: [8, 0]",
     "s.yaml:7:71: architecture.stem.channels.choices is '0'; it must be a whole number from 1"},
    {"WhenOfAnUnknownName", "when: {op: mbconv}", "when: {ops: mbconv}",
     "s.yaml:14:64: architecture.stages[0].block.expansion.when: unknown parameter 'ops'; did you "
     "mean 'op'?"},
    {"WhenOfAnImpossibleValue", "when: {op: mbconv}", "when: {op: residual}",
     "s.yaml:14:68: architecture.stages[0].block.expansion.when: architecture.stages[0].block.op "
     "cannot be 'residual'; it accepts conv, mbconv"},
    {"WhenThatIsNoMap", "when: {op: mbconv}", "when: mbconv",
     "s.yaml:14:63: architecture.stages[0].block.expansion.when must be {name: value} or"},
    {"WhenOfItself", "log: true", "log: true, when: {lr: 0.1}",
     "s.yaml:18:7: lr: when: the conditions form a circle"},
    {"WhenOnAKeyThatMustHaveAValue", "epochs: 3",
     "epochs: {type: int, low: 1, high: 3, when: {op: conv}}",
     "s.yaml:20:49: training.epochs: when: it must always have a value"},
    {"NoRepeat", "repeat: 2", "repeat: 0", "s.yaml:9:15: architecture.stages[0].repeat is '0'"},
    {"NoStages", "type: chain", "type: chain\n  stagess: []",
     "s.yaml:7:3: architecture: unknown key 'stagess'; did you mean 'stages'?"},
    {"UnknownUnitOfASize", "400MB", "400Mb",
     "s.yaml:15:48: architecture.constraints.max_memory is '400Mb'; it must be a size such as"},
    {"UnknownUnitOfADuration", "2h}", "2 hours}",
     "s.yaml:24:48: resources.max_trial_duration is '2 hours'; it must be a duration such as"},
    {"InitialTrialOutOfRange", "initial_trials: []", "initial_trials: [{lr: 7}]",
     "s.yaml:22:88: search.initial_trials: lr cannot be 7; it accepts 0.0001 to 0.1"},
    {"InitialTrialOfWhatItSwitchesOff", "initial_trials: []",
     "initial_trials: [{optimizer: adamw, momentum: 0.9}]",
     "s.yaml:22:88: search.initial_trials: momentum is given, but optimizer switches it off"},
    {"InitialTrialOfAnUnknownName", "initial_trials: []", "initial_trials: [{lrr: 0.01}]",
     "s.yaml:22:88: search.initial_trials: unknown parameter 'lrr'; did you mean 'lr'?"},
    {"InitialTrialsThatAreNoList", "initial_trials: []", "initial_trials: 3",
     "s.yaml:22:87: search.initial_trials: it must be a list of {parameter: value} maps"},
    {"OptionThatIsNoScalar", "min_resource: 1", "min_resource: [1]",
     "s.yaml:22:67: search.pruner.min_resource is a list; it must be a word"},
    {"ForeignSection", "seed: 7", "program: [python, train.py]",
     "s.yaml:3:1: unknown key 'program'; known: version"},
    {"UnclosedBracket", "budget: 10cpu-min", "budget: [10cpu-min", "s.yaml:24:10: not YAML: "},
    {"Tab", "  type: chain", "\ttype: chain", "s.yaml:6:1: a tab; YAM"},
    {"TypeOfAnotherTool", "lr: {type: float", "lr: {type: loguniform",
     "s.yaml:18:14: parameters.lr.type: unknown word 'loguniform'; write float, with log: true;"},
    {"KeyOfAnotherTool", "{type: int, low: 1, high: 3}", "{type: int, min: 1, high: 3}",
     "s.yaml:10:26: architecture.stages[0].depth: unknown key 'min'; write low;"},
    {"ListWithoutAType", "optimizer: {type: categorical, choices: [sgd, adamw]}",
     "optimizer: [sgd, adamw]",
     "s.yaml:17:14: parameters.optimizer is a list; it must be one of sgd, adamw, rmsprop, lars, "
     "adam, or a choice: {type: categorical, choices: [sgd, adamw]}"},
    {"ChoiceWithoutAType", "lr: {type: float, low", "lr: {low",
     "s.yaml:18:7: parameters.lr is a map; it must be a number from 1e-12 to 1000, or a choice, "
     "whose type is missing here: {type: float, ...}"},
    {"MetricWithoutItsPrefix", "metric: val_accuracy", "metric: accuracy",
     "s.yaml:21:23: objectives[0].metric: unknown word 'accuracy'; did you mean 'val_accuracy'?"},
    {"DirectionCutShort", "direction: maximize", "direction: max",
     "s.yaml:21:48: objectives[0].direction: unknown word 'max'; did you mean 'maximize'?"},
    {"KeyOfASection", "seed: 7", "epochs: 3",
     "s.yaml:3:1: unknown key 'epochs'; did you mean 'training.epochs'?"},
    {"Tag", "seed: 7", "seed: !!int 7", "s.yaml:3:7: the tag tag:yaml.org,2002:int is not"},
    {"SecondDocument", "budget:", "---\nbudget:", "s.yaml:23:1: a second document"},
    {"KeyThatIsNoWord", "seed: 7", "[seed]: 7", "s.yaml:3:1: a key must be a word"},
    {"NotUtf8", "study: small", "study: sm\xffll", "s.yaml:2:10: not UTF-8"},
    {"ControlCharacter", "study: small", "study: sm\001ll", "s.yaml:2:10: a control character"},
};

std::string edited(const Case& row) {
  std::string text(kGood);
  const auto at = text.find(row.good);
  EXPECT_NE(at, std::string::npos) << row.good;
  EXPECT_EQ(text.find(row.good, at + 1), std::string::npos) << row.good << " occurs twice";
  return text.replace(at, row.good.size(), row.bad);
}

class BadSpace : public testing::TestWithParam<Case> {};

TEST_P(BadSpace, IsRefusedWithItsPlaceAndRemedy) {
  const auto study = load_study_config(edited(GetParam()), "s.yaml");
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, ErrorCode::kInput);
  EXPECT_EQ(study.error().message.substr(0, GetParam().message.size()), GetParam().message);
  EXPECT_EQ(study.error().message.find('\n'), std::string::npos);
}

TEST(BadSpaceFile, EveryMistakeIsSaidInALineOfItsOwn) {
  std::string text(kGood);
  for (const auto& [good, bad] : std::vector<std::pair<std::string, std::string>>{
           {"seed: 7", "sed: 7"}, {"epochs: 3", "epochs: none"}, {"type: int", "type: integer"}})
    text.replace(text.find(good), good.size(), bad);
  const auto study = load_study_config(text, "s.yaml");
  ASSERT_FALSE(study);
  std::istringstream lines(study.error().message);
  std::vector<std::string> places;
  for (std::string line; std::getline(lines, line);) places.push_back(line.substr(0, 20));
  EXPECT_EQ(places, (std::vector<std::string>{"s.yaml:3:1: unknown ", "s.yaml:10:21: archit",
                                              "s.yaml:20:20: traini"}));
}

INSTANTIATE_TEST_SUITE_P(Table, BadSpace, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(GoodSpace, Loads) {
  const auto study = load_study_config(kGood, "s.yaml");
  EXPECT_TRUE(study) << study.error().message;
}

std::string message_of(std::string_view text) {
  const auto study = load_study_config(text, "s.yaml");
  return study ? "" : study.error().message;
}

TEST(BadSpaceFile, EmptyOnesSayWhereAnExampleIs) {
  for (std::string_view text : {"", "\n", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(message_of(text).substr(0, 29), "s.yaml:1:1: the file is empty") << text;
  }
}

TEST(BadSpaceFile, AnythingButAMapIsRefused) {
  EXPECT_EQ(message_of("[1, 2]").substr(0, 34), "s.yaml:1:1: a space file is a map:");
  EXPECT_EQ(message_of("words").substr(0, 34), "s.yaml:1:1: a space file is a map:");
}

TEST(BadSpaceFile, TooManyBytesAreRefusedUnread) {
  EXPECT_EQ(message_of(std::string(2'000'000, ' ')),
            "s.yaml:1:1: the file has 2000000 bytes; at most 1048576 are read");
}

// Each text is a megabyte that would exhaust a naive parser's stack, memory or time.
TEST(BadSpaceFile, HostileNestingIsRefused) {
  for (std::string_view unit :
       {"[", "{", "- ", "? ", "a: ", "[a,", "{a: ", "&a [", "!", "|\n ", "\""}) {
    std::string text;
    while (text.size() + unit.size() < 1'000'000) text += unit;
    EXPECT_NE(message_of(text), "") << unit;
  }
}

TEST(BadSpaceFile, AliasBombsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += "*a" + std::to_string(i - 1) + ", ";
    text += "]\n";
  }
  EXPECT_NE(message_of(text).find("more than 100000 values, aliases counted"), std::string::npos);
}

TEST(BadSpaceFile, MissingFilesAndFoldersAreNamed) {
  EXPECT_NE(read_study_config("/no/such/space.yaml").error().message.find("/no/such/space.yaml"),
            std::string::npos);
  EXPECT_EQ(read_study_config("/").error().code, ErrorCode::kInput);
}

}  // namespace
}  // namespace detol
