// Tests of space files with `table`: what they may hold, the key by which a candidate is looked up,
// and their errors.

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const std::string kHead = "version: 1\nstudy: s\n";
const std::string kTail = "objectives: [{metric: score, direction: maximize}]\n";
const std::string kTable = "table: {path: /t.csv, key: [lr, depth], metrics: {score: acc}}\n";
const std::string kParameters =
    "parameters: {lr: {type: categorical, choices: [0.1, 1.0e-3]}, depth: {type: int, low: 1, "
    "high: 3}}\n";

std::vector<std::string> key_of(const StudyConfig& study,
                                std::vector<std::pair<std::string, Value>> assignments) {
  const auto genome = study.space.genome(assignments);
  EXPECT_TRUE(genome) << genome.error().message;
  return study.table_key(*genome);
}

TEST(TableStudy, HasParametersOfAnyNamesAndItsOwnMetrics) {
  const StudyConfig study = load(kHead + kTable + kParameters + kTail);
  ASSERT_TRUE(study.table);
  EXPECT_FALSE(study.trains());
  EXPECT_EQ(study.data_path(), "/t.csv");
  EXPECT_EQ(study.table->key.at(1).column, "depth");
  EXPECT_EQ(study.table->metrics.at(0).column, "acc");
  EXPECT_EQ(choices_of(study), "lr depth");
  EXPECT_EQ(metric_names(study), std::vector<std::string_view>{"score"});
  EXPECT_EQ(study.max_epochs, 1);
  EXPECT_EQ(load(study.text).text, study.text);
}

TEST(TableStudy, LooksACandidateUpByItsKey) {
  const StudyConfig study = load(kHead + kTable + kParameters + kTail);
  EXPECT_EQ(key_of(study, {{"lr", 1e-3}, {"depth", std::int64_t{2}}}),
            (std::vector<std::string>{"0.001", "2"}));
}

TEST(TableStudy, AKeyMayHaveOtherColumnsConstantsAndConditions) {
  const StudyConfig study = load(
      kHead + "table: {path: /t.csv, key: {opt: optimizer, momentum: m, epochs: e, x: x}, " +
      "metrics: {score: acc}}\n" +
      "parameters: {opt: {type: categorical, choices: [sgd, adam]}, epochs: 200,\n" +
      "  momentum: {type: float, low: 0, high: 1, when: {opt: sgd}}, x: {type: bool}}\n" + kTail);
  EXPECT_EQ(study.table->key.at(0).column, "optimizer");
  EXPECT_EQ(key_of(study, {{"opt", "adam"}, {"x", true}}),
            (std::vector<std::string>{"adam", "", "200", "true"}));
  EXPECT_EQ(key_of(study, {{"opt", "sgd"}, {"momentum", 0.5}, {"x", false}}),
            (std::vector<std::string>{"sgd", "0.5", "200", "false"}));
}

TEST(TableStudy, KnowsAnArchitectureByItsText) {
  const std::string cell =
      "architecture:\n  type: cell\n  cell: {nodes: 3, edges: op_on_edge, operations: [none, "
      "skip_connect]}\n";
  const StudyConfig study =
      load(kHead + "table: {path: /t.csv, key: [arch, lr], metrics: {score: acc}}\n" + cell +
           "parameters: {lr: {type: categorical, choices: [0.1]}}\n" + kTail);
  Rng rng(1);
  const Genome genome = study.space.sample(rng);
  const std::vector<std::string> key = study.table_key(genome);
  EXPECT_TRUE(key.at(0).starts_with("|")) << key.at(0);
  EXPECT_NE(key.at(0).find("~0|+|"), std::string::npos) << key.at(0);
  EXPECT_EQ(key.at(1), "0.1");
  EXPECT_NE(study.architecture_json(genome), "null");
  EXPECT_TRUE(study.candidate(genome, {}));
}

TEST(TableStudy, TheDataOptionMeansItsPath) {
  EXPECT_EQ(load(kHead + kTable + kParameters + kTail, {{"data.path", "/u.csv"}}).table->path,
            "/u.csv");
}

TEST(TableStudy, APathMayBeLeftToTheOptionIfTheSourceIsSaid) {
  const StudyConfig table =
      load(kHead + "table: {source: from nowhere, key: [lr, depth], metrics: {score: acc}}\n" +
           kParameters + kTail);
  EXPECT_EQ(table.data_path(), "");
  EXPECT_EQ(table.table->source, "from nowhere");
  EXPECT_EQ(table.data_path_at.text, "s.yaml:3:8");
}

struct Case {
  std::string name;
  std::string text;     // of the file, between its first two lines and its last
  std::string message;  // how the error begins
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.text;
}

const std::vector<Case> kCases = {
    {"NoPath", "table: {key: lr, metrics: {score: acc}}\nparameters: {lr: 1}\n",
     "s.yaml:3:8: table: the key 'path' is missing; it must be a word, or left to --data"},
    {"NoKey", "table: {path: /t.csv, metrics: {score: acc}}\n",
     "s.yaml:3:8: table: the key 'key' is missing"},
    {"NoMetrics", "table: {path: /t.csv, key: lr}\n",
     "s.yaml:3:8: table: the key 'metrics' is missing; it must be a map of names to texts"},
    {"MetricsThatAreNoMap", "table: {path: /t.csv, key: lr, metrics: acc}\n",
     "s.yaml:3:41: table.metrics is a single value; it must be a map of names to texts"},
    {"EmptyMetrics", "table: {path: /t.csv, key: lr, metrics: {}}\n", "s.yaml:3:41: table.metrics"},
    {"SearchedMetric", "table: {path: /t.csv, key: lr, metrics: {score: {type: bool}}}\n",
     "s.yaml:3:49: table.metrics.score is a map; it must be a word"},
    {"UnknownKey", "table: {path: /t.csv, key: lr, metrics: {score: acc}, costs: c}\n",
     "s.yaml:3:55: table: unknown key 'costs'; did you mean 'cost'?"},
    {"KeyOfNoParameter", kTable + "parameters: {lr: 1, depht: 2}\n",
     "s.yaml:3:33: table.key: unknown parameter 'depth'; did you mean 'depht'? known: depht, lr"},
    {"ParameterWithoutColumn", kTable + "parameters: {lr: 1, depth: 2, width: 3}\n",
     "s.yaml:3:28: table.key: the parameter 'width' has no column"},
    {"ColumnTwice",
     "table: {path: /t.csv, key: [lr, lr], metrics: {score: acc}}\nparameters: {lr: 1}\n",
     "s.yaml:3:33: table.key: 'lr' and 'lr' are the same"},
    {"KeyOfMaps",
     "table: {path: /t.csv, key: [{a: b}], metrics: {score: acc}}\nparameters: {lr: 1}\n",
     "s.yaml:3:29: table.key: it must be a column, a list of columns, or a map"},
    {"EmptyKey", "table: {path: /t.csv, key: [], metrics: {score: acc}}\nparameters: {lr: 1}\n",
     "s.yaml:3:28: table.key: it must be a column"},
    {"AnArchitectureThatNoTableKnows",
     "table: {path: /t.csv, key: arch, metrics: {score: acc}}\narchitecture: {type: chain, stages: "
     "[{block: {op: conv}}]}\n",
     "s.yaml:4:22: architecture.type: no table knows the architectures of chain; accepted: cell"},
    {"WithData", kTable + kParameters + "data: {format: idx, path: /d}\n",
     "s.yaml:5:1: 'data' cannot stand beside 'table'"},
    {"WithTraining", kTable + kParameters + "training: {epochs: 1}\n",
     "s.yaml:5:1: 'training' cannot stand beside 'table'"},
    {"WithFunction", kTable + "function: {name: branin}\n",
     "s.yaml:3:1: 'table' cannot stand beside 'function'"},
    {"ParametersThatAreNoMap", kTable + "parameters: [lr]\n",
     "s.yaml:4:13: parameters is a list; it must be a map of names to values or choices"},
    {"ListForAParameter", kTable + "parameters: {lr: [1, 2], depth: 1}\n",
     "s.yaml:4:18: parameters.lr is a list; it must be a single value"},
    {"ChoiceWithAWrongBound",
     kTable + "parameters: {lr: {type: float, low: a, high: 1}, depth: 1}\n",
     "s.yaml:4:37: parameters.lr.low is 'a'; it must be a number"},
};

class BadTableStudy : public testing::TestWithParam<Case> {};

TEST_P(BadTableStudy, IsRefusedWithItsPlace) {
  const std::string message = message_of(kHead + GetParam().text + kTail);
  EXPECT_TRUE(message.starts_with(GetParam().message)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, BadTableStudy, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(BadTableStudyObjective, MustBeAMetricOfTheTable) {
  const std::string message = message_of(kHead + kTable + kParameters +
                                         "objectives: [{metric: acc, direction: maximize}]\n");
  EXPECT_TRUE(message.starts_with("s.yaml:5:23: objectives[0].metric: unknown word 'acc'"))
      << message;
}

TEST(DataSource, LeavesThePathToTheOption) {
  const std::string file = file_with(kPlainStage);
  const std::string path = "path: /data", source = "source: from nowhere";
  std::string without = file;
  without.replace(without.find(path), path.size(), source);
  const StudyConfig study = load(without);
  EXPECT_EQ(study.data.path, "");
  EXPECT_EQ(study.data.source, "from nowhere");
  EXPECT_EQ(study.data_path_at.text, "s.yaml:3:7");
  EXPECT_EQ(load(without, {{"data.path", "/d"}}).data.path, "/d");
}

}  // namespace
}  // namespace detol
