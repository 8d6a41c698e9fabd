// `detol simulate`, as a person calls it.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/e2e/tiny_study.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

class Simulate : public testing::Test {
 protected:
  Simulate() {
    write_bytes(folder_.path() / "levy.yaml", R"(version: 1
study: levy
function: {name: levy, dimensions: 3}
search: {algorithm: random}
)");
  }

  Ran simulate(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"simulate", "--space", "levy.yaml", "--trial-seconds",
                                      "30..300"};
    words.insert(words.end(), more.begin(), more.end());
    return run(folder_.path(), words);
  }

  TempFolder folder_;
};

TEST_F(Simulate, AnswersForEachBudgetWhatItWouldGive) {
  const Ran ran = simulate({"-j", "64", "--budget", "1gpu-h", "--budget", "5gpu-h", "-f", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json rows = Json::parse(ran.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LE(rows[0]["device_h"], 1.0001);
  EXPECT_LE(rows[1]["device_h"], 5.0001);
  EXPECT_GT(rows[1]["trained"], rows[0]["trained"]);
  EXPECT_LE(rows[1]["best"], rows[0]["best"]);
  EXPECT_EQ(rows[1]["best_so_far"].back()["value"], rows[1]["best"]);
}

TEST_F(Simulate, AReportEveryThreeSecondsKeepsAThousandWorkersBusy) {
  const Ran ran = simulate(
      {"-j", "1000", "--budget", "10min", "--report-every", "3", "--pruner", "none", "-f", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json row = Json::parse(ran.out);
  EXPECT_GT(row["utilization"], 0.97);
  EXPECT_GT(row["messages_per_s"], 600);
}

TEST_F(Simulate, KeepsItsStudyOnlyWhereItIsAskedTo) {
  ASSERT_EQ(simulate({"--budget", "5trials"}).code, 0);
  EXPECT_EQ(run(folder_.path(), {"studies"}).code, 4);
  ASSERT_EQ(simulate({"--budget", "5trials", "--ledger", "kept.db"}).code, 0);
  const Ran trials = run(folder_.path(), {"trials", "levy", "--storage", "kept.db", "-f", "json"});
  EXPECT_EQ(Json::parse(trials.out).size(), 5u);
}

TEST_F(Simulate, ReplaysTheCurvesOfAStudyAndOfAFileOfThem) {
  ASSERT_EQ(simulate({"--budget", "20trials", "--ledger", "kept.db"}).code, 0);
  const Ran study = simulate({"--storage", "kept.db", "--curves", "levy", "--save-curves",
                              "curves.jsonl", "--budget", "20trials", "-f", "json"});
  ASSERT_EQ(study.code, 0) << study.err;
  const Ran file = simulate({"--curves", "curves.jsonl", "--budget", "20trials", "-f", "json"});
  ASSERT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(Json::parse(study.out)["best"], Json::parse(file.out)["best"]);
}

TEST_F(Simulate, SaysWhatIsWrongInOneLine) {
  const auto refused = [&](const std::vector<std::string>& words, int code, const char* said) {
    const Ran ran = simulate(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
  };
  refused({}, 3, "--budget");
  refused({"--budget", "1h", "--ask-ms", "x"}, 2, "0=0.5,1000=20");
  refused({"--budget", "1h", "--trial-seconds", "9..1"}, 2, "30..300");
  refused({"--budget", "1h", "--fail", "-1"}, 2, "--fail");
  refused({"--budget", "1h", "--curves", "nobody"}, 4, "no study");
  write_bytes(folder_.path() / "program.yaml",
              "version: 1\nstudy: p\ncommand: {run: [sh]}\nparameters: {x: {type: bool}}\n"
              "objectives: [{metric: loss, direction: minimize}]\n");
  refused({"--budget", "1h", "--space", "program.yaml"}, 2, "simulate runs no program");
}

// Batches of 16 and 32 for 20 ranks: half of the candidates.
TEST(SimulateNetworks, RefusesWhatARunWouldRefuseAndSoDoTheChecksBeforeIt) {
  const TinyStudy study;
  const char* why = "a batch of 16 cannot be shared by the 20 ranks of a group";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"validate", "--space", "tiny.yaml", "--set",
                                 "resources.group_size=20", "-f", "json"},
        {"search", "--space", "tiny.yaml", "--group-size", "20", "--dry-run", "-f", "json"}}) {
    const Ran ran = study.detol(words);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json row = Json::parse(ran.out);
    EXPECT_NEAR(row["refused_share"].get<double>(), 0.5, 0.2) << row;
    EXPECT_EQ(row["refused_because"], why);
  }
  const Ran ran =
      study.detol({"simulate", "--space", "tiny.yaml", "--group-size", "64", "-f", "json"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  const Json row = Json::parse(ran.out);
  EXPECT_EQ(row["trained"], 0);
  EXPECT_EQ(row["finished"], 0);
  EXPECT_GT(row["failed"], 0);
  EXPECT_NE(ran.err.find("cannot be shared by the 64 ranks"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace detol::testing_support
