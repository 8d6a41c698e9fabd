#include "trainer/table.h"

#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

constexpr const char* kFile =
    "id,lr,depth,skip,acc,test,flops\n"
    "0,0.1,1,true,0.5,0.4,100\n"
    "1,1e-1,2,True,0.6,0.5,200\n"
    "2,0.30000000000000004,1,FALSE,0.7,nan,300\n";

class TableTest : public testing::Test {
 protected:
  StudyConfig study(const std::string& file = kFile) const {
    std::ofstream(path()) << file;
    const auto loaded = load_study_config(
        "version: 1\nstudy: s\ntable: {path: " + path() +
            ", key: [lr, depth, skip], metrics: {accuracy: acc, test: test}, cost: flops}\n"
            "parameters: {lr: {type: float, low: 0.1, high: 0.5, step: 0.1}, depth: {type: int, "
            "low: 1, high: 3}, skip: {type: bool}}\n"
            "objectives: [{metric: accuracy, direction: maximize}]\n",
        "s.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return *loaded;
  }

  static Genome genome(const StudyConfig& study, double lr, std::int64_t depth, bool skip) {
    const std::pair<std::string, Value> values[] = {{"lr", lr}, {"depth", depth}, {"skip", skip}};
    return study.space.genome(values).value();
  }

  std::string path() const { return (folder_.path() / "t.csv").string(); }
  std::string message_of(const std::string& file) const {
    const auto info = inspect_study(study(file));
    return info ? "" : info.error().message;
  }

  testing_support::TempFolder folder_;
};

struct Ran {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
};

Ran run(const StudyConfig& study, const Genome& genome) {
  Ran ran;
  Control control;
  const Reporter report = [&](const EpochReport& epoch, bool) {
    ran.reports.push_back(epoch);
    return Verdict::kStop;
  };
  const auto evaluator = make_evaluator(study, {}).value();
  Job job;
  job.genome = genome;
  ran.evaluation = evaluator->evaluate(job, report, control).value();
  return ran;
}

TEST_F(TableTest, MayHaveSemicolonsDecimalCommasAndComments) {
  const StudyConfig plain = study();
  const Table expected = Table::load(*plain.table).value();
  const StudyConfig other = study(
      "# from the cluster\n"
      "id;lr;depth;skip;acc;test;flops\n"
      "0;0,1;1;true;0,5;0,4;100\n"
      "1;0,1;2;True;0,6;0,5;200\n");
  const Table found = Table::load(*other.table).value();
  const auto key = other.table_key(genome(other, 0.1, 2, true));
  ASSERT_NE(found.find(key), nullptr);
  EXPECT_EQ(found.find(key)->metrics, expected.find(key)->metrics);
}

TEST_F(TableTest, ReportsTheRowOfACandidateOnce) {
  const StudyConfig config = study();
  const Ran ran = run(config, genome(config, 0.1, 2, true));
  ASSERT_EQ(ran.reports.size(), 1u);
  EXPECT_EQ(ran.reports[0].epoch, 1);
  EXPECT_EQ(ran.reports[0].work, 200);
  ASSERT_EQ(ran.reports[0].metrics.size(), 2u);
  EXPECT_EQ(ran.reports[0].metrics[0].name, "accuracy");
  EXPECT_EQ(ran.reports[0].metrics[0].value, 0.6);
  EXPECT_EQ(ran.reports[0].metrics[1].value, 0.5);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFinished);
}

TEST_F(TableTest, AMeasurementThatIsNoNumberIsADivergedTrial) {
  const StudyConfig config = study();
  const Ran ran = run(config, genome(config, 0.1 + 2 * 0.1, 1, false));
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFailed);
  EXPECT_EQ(ran.evaluation.cause, Cause::kDiverged);
  EXPECT_EQ(ran.evaluation.reason, "test is nan there");
}

TEST_F(TableTest, WhatHasNoRowIsNotAdmitted) {
  const StudyConfig config = study();
  const Admission admit = make_admission(config).value();
  EXPECT_FALSE(admit(genome(config, 0.1, 1, true)));
  const auto refused = admit(genome(config, 0.1, 1, false));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->cause, Cause::kInvalid);
  EXPECT_EQ(refused->reason, "not in the table: lr = 0.1, depth = 1, skip = false");
  EXPECT_EQ(run(config, genome(config, 0.1, 1, false)).evaluation.cause, Cause::kInvalid);
}

TEST_F(TableTest, WholeNumbersOfAKeyKeepAllOfTheirDigits) {
  std::ofstream(path()) << "id,acc\n1234567890123456,0.1\n1234567890123457,0.2\n7.0,0.3\n";
  const Table table = Table::load({.path = path(),
                                   .source = "",
                                   .key = {{"id", ""}},
                                   .metrics = {{"acc", "acc"}},
                                   .cost = ""})
                          .value();
  EXPECT_EQ(table.rows(), 3u);
  EXPECT_EQ(table.find({"1234567890123457"})->metrics.front(), 0.2);
  EXPECT_EQ(table.find({"7"})->metrics.front(), 0.3);
  EXPECT_EQ(table.find({"1234567890123458"}), nullptr);
}

TEST_F(TableTest, FractionsOfAKeyAreEqualToTwelveDigits) {
  std::ofstream(path()) << "lr,acc\n0.1234567891,0.1\n0.1234567892,0.2\n0.30000000000000004,0.3\n";
  const Table table = Table::load({.path = path(),
                                   .source = "",
                                   .key = {{"lr", ""}},
                                   .metrics = {{"acc", "acc"}},
                                   .cost = ""})
                          .value();
  EXPECT_EQ(table.find({"0.1234567892"})->metrics.front(), 0.2);
  EXPECT_EQ(table.find({"0.3"})->metrics.front(), 0.3);
  EXPECT_EQ(table.find({"0.12345679"}), nullptr);
}

TEST_F(TableTest, AChangedFileIsSeen) {
  const auto before = inspect_study(study())->fingerprint;
  EXPECT_EQ(inspect_study(study())->fingerprint, before);
  EXPECT_NE(inspect_study(study(std::string(kFile) + "3,0.2,3,true,0.7,0.1,1\n"))->fingerprint,
            before);
}

TEST_F(TableTest, WhatIsWrongWithAFileIsSaidWithItsPlace) {
  const std::string header = "lr,depth,skip,acc,test,flops\n";
  const struct {
    std::string file, message;
  } table[] = {
      {"", ":1:1: the file is empty"},
      {header, ": there is no row below the header"},
      {"lr,dept,skip,acc,test,flops\n",
       ":1:1: table.key: unknown column 'depth'; did you mean 'dept'? known: lr, dept, skip"},
      {"lr,depth,skip,acc,test,flop\n", ":1:1: table.cost: unknown column 'flops'"},
      {"lr,depth,skip,acc,tset,flops\n", ":1:1: table.metrics: unknown column 'test'"},
      {"lr,depth,skip,acc,test,flops,acc\n", ":1:1: two columns are called 'acc'"},
      {header + "0.1,1,true,good,0,1\n", ":2:12: 'good' is no number (acc)"},
      {header + "0.1,1,true,,0,1\n", ":2:12: '' is no number (acc)"},
      {header + "0.1,1,true,1,0,-1\n", ":2:16: a cost must be a number of at least 0"},
      {header + "0.1,1,true,1,0,1\n1e-1,1.0,TRUE,2,0,1\n", ":3:1: line 2 has the same key"},
      {header + "0.1,1,true,1,0\n", ":2:1: 5 cells, but the lines before have 6"},
  };
  for (const auto& row : table) {
    const std::string message = message_of(row.file);
    EXPECT_TRUE(message.starts_with(path() + row.message)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(TableTest, AMissingFileNamesItsSource) {
  StudyConfig config = study();
  config.table->path = "/nowhere.csv";
  config.table->source = "a table of\nmine";
  EXPECT_EQ(inspect_study(config).error().message,
            "/nowhere.csv: there is nothing; say where the data is with --data PATH: a table of "
            "mine");
  config.table->path = "";
  EXPECT_EQ(inspect_study(config).error().message,
            "no path is given; say where the data is with --data PATH: a table of mine");
}

}  // namespace
}  // namespace detol
