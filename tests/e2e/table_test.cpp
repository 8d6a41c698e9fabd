// Studies of a table, by the commands that apply: no network is trained.

#include <algorithm>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

constexpr const char* kSpace = R"(version: 1
study: looked
seed: 3
table:
  path: t.csv
  source: the shelf
  key: [lr, depth]
  metrics: {accuracy: acc, test: test_acc}
  cost: flops
parameters:
  lr: {type: categorical, choices: [0.1, 0.01, 1.0e-3, 1.0e-4, 1.0e-5], ordered: true}
  depth: {type: int, low: 1, high: 5}
objectives: [{metric: accuracy, direction: maximize}]
search: {algorithm: random}
)";

// Twenty rows: depth 5 is not in it. The best is lr 0.001, depth 4.
std::string table() {
  std::string text = "lr,depth,acc,test_acc,flops\r\n";
  const char* rates[] = {"0.1", "1e-2", "0.001", "0.0001", "1e-05"};
  for (int rate = 0; rate < 5; ++rate) {
    for (int depth = 1; depth <= 4; ++depth) {
      const int acc = 50 + 5 * depth - 4 * (rate - 2) * (rate - 2);
      text += std::string(rates[rate]) + "," + std::to_string(depth) + "," + std::to_string(acc) +
              "," + std::to_string(acc - 1) + "," + std::to_string(1000 * depth) + "\r\n";
    }
  }
  return text;
}

class TableSearch : public testing::Test {
 protected:
  TableSearch() {
    write_bytes(folder_.path() / "t.yaml", kSpace);
    write_bytes(folder_.path() / "t.csv", table());
  }

  Ran detol(const std::vector<std::string>& words) const { return run(folder_.path(), words); }

  Ran search(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"search", "--space", "t.yaml", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return detol(words);
  }

  Json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"-f", "json"});
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out, nullptr, false);
  }

  TempFolder folder_;
};

TEST_F(TableSearch, FindsTheBestRowAndRefusesWhatHasNone) {
  ASSERT_EQ(search({"--budget", "20trials"}).code, 0);
  const Json status = json({"status", "looked"});
  EXPECT_EQ(status["trained"], 20);
  const Json best = json({"best", "looked"});
  EXPECT_EQ(best["values"], Json({{"accuracy", 70.0}, {"test", 69.0}}));
  EXPECT_EQ(best["params"]["depth"], 4);
  EXPECT_TRUE(best["architecture"].is_null());
  int refused = 0;
  for (const Json& trial : json({"trials", "looked"})) {
    if (trial["params"]["depth"] != 5) continue;
    ++refused;
    EXPECT_EQ(trial["state"], "FAIL");
    EXPECT_EQ(trial["failure"], "invalid");
    EXPECT_EQ(trial["epochs"], 0);
  }
  EXPECT_GT(refused, 0);
}

TEST_F(TableSearch, ItsCostIsWork) {
  ASSERT_EQ(search({"--budget", "2e4flops"}).code, 0);
  const Json trained = json({"status", "looked"})["trained"];
  EXPECT_GE(trained, 5);
  EXPECT_LE(trained, 20);
}

TEST_F(TableSearch, IsValidatedWithTheShareThatHasNoRow) {
  const Json valid = json({"validate", "--space", "t.yaml"});
  EXPECT_EQ(valid["size"], 25);
  EXPECT_GT(valid["refused"], 0);
  EXPECT_LT(valid["refused_share"], 0.5);
  EXPECT_FALSE(valid.contains("training_images"));
}

TEST_F(TableSearch, AChangedTableIsNoticedOnResume) {
  ASSERT_EQ(search({"--budget", "2trials"}).code, 0);
  EXPECT_EQ(detol({"resume", "looked", "--budget", "+1trials"}).code, 0);
  write_bytes(folder_.path() / "t.csv", table() + "1,1,1,1,1\n");
  const Ran ran = detol({"resume", "looked", "--budget", "+1trials"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("other data"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("t.csv"), std::string::npos) << ran.err;
}

TEST_F(TableSearch, SaysThatThereIsNoNetwork) {
  ASSERT_EQ(search({"--budget", "2trials"}).code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"trial", "looked", "best", "--arch"},
        std::vector<std::string>{"export", "looked", "--to", "onnx"}}) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 6) << ran.err;
    EXPECT_NE(ran.err.find("scores a table"), std::string::npos) << ran.err;
  }
}

struct Wrong {
  std::vector<std::string> words;
  int code;
  std::string says;
};

TEST_F(TableSearch, WhatIsWrongIsOneLineWithItsPlace) {
  const Wrong cases[] = {
      {{"--data", "elsewhere.csv"}, 3, "--data: "},
      {{"--data", "elsewhere.csv"},
       3,
       "elsewhere.csv: there is nothing; say where the data is "
       "with --data PATH: the shelf"},
      {{"--set", "table.cost=watts"}, 3, "t.yaml:5:9: "},
      {{"--set", "table.cost=watts"}, 3, "t.csv:1:1: table.cost: unknown column 'watts'"},
      {{"--set", "table.costs=flops"}, 2, "did you mean 'cost'"},
      {{"--set", "table.cost=~", "--budget", "5flops"}, 2, "table.cost"},
      {{"--target", "val_accuracy>=1"}, 2, "val_accuracy"},
  };
  for (const Wrong& wrong : cases) {
    const Ran ran = search(wrong.words);
    EXPECT_EQ(ran.code, wrong.code) << ran.err;
    EXPECT_NE(ran.err.find(wrong.says), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// The ready-made spaces whose data are not shipped.
TEST(Source, IsSaidWhereNoDataAreGiven) {
  const TempFolder folder;
  for (const char* space : {"nasbench201", "mlp_table", "conv1d"}) {
    for (const char* command : {"search", "validate"}) {
      const Ran ran = run(folder.path(), {command, "--space", space});
      EXPECT_EQ(ran.code, 3) << ran.err;
      EXPECT_NE(ran.err.find(std::string(space) + ".yaml:"), std::string::npos) << ran.err;
      EXPECT_NE(ran.err.find("with --data PATH: "), std::string::npos) << ran.err;
      EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    }
  }
}

}  // namespace
}  // namespace detol::testing_support
