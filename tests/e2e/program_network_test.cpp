// Networks that a program of the user trains.

#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"
#include "tests/support/idx_writer.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Six networks; those of depth 3 are too large.
constexpr const char* kSpace = R"(version: 1
study: nets
seed: 1
command:
  run: [sh, train.sh, '{network.json}', '{network.onnx}', '{network.py}']
  input: [1, 12, 12]
  outputs: 3
architecture:
  type: chain
  stages:
    - depth: {type: int, low: 1, high: 3}
      block: {op: {type: categorical, choices: [conv, residual]}, kernel: 3}
  constraints: {max_params: 30000}
objectives: [{metric: accuracy, direction: maximize}, {metric: params, direction: minimize}]
search: {algorithm: random}
budget: 4trials
)";

constexpr const char* kScript =
    "for file in \"$@\"; do [ -s \"$file\" ] || exit 9; done\n"
    "[ \"$1\" = \"$DETOL_NETWORK_JSON\" ] && [ \"$2\" = \"$DETOL_NETWORK_ONNX\" ] &&\n"
    "  [ \"$3\" = \"$DETOL_NETWORK_PY\" ] || exit 8\n"
    "cp \"$1\" \"$DETOL_TRIAL_DIR/seen.json\"; echo $DETOL_TRIAL >> runs\n"
    "echo \"{\\\"accuracy\\\": 0.$(grep -c op \"$1\")}\" >> \"$DETOL_REPORT\"\n";

class ProgramNetworks : public testing::Test {
 protected:
  void SetUp() override {
    write_bytes(folder_.path() / "train.sh", kScript);
    write_bytes(folder_.path() / "nets.yaml", kSpace);
    const Ran ran = detol({"search", "--space", "nets.yaml", "-j", "1"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  Ran detol(const Words& words) const { return run(folder_.path(), words); }
  Json query(const std::string& sql) const { return json_of(detol({"query", sql, "-f", "json"})); }

  TempFolder folder_;
};

TEST_F(ProgramNetworks, AreHandedToItAndRecorded) {
  const Json trials = query("SELECT trial, params, values_json FROM v_trials WHERE epochs > 0");
  ASSERT_FALSE(trials.empty());
  for (const Json& row : trials) {
    const std::string trial = std::to_string(row["trial"].get<int>());
    const auto seen =
        Json::parse(text_of(folder_.path() / "detol.db.d/nets" / trial / "seen.json"));
    EXPECT_EQ(seen["network"]["params"], row["params"]);
    EXPECT_EQ(Json::parse(row["values_json"].get<std::string>())["params"], row["params"])
        << "an objective that the program does not report";
    const Json layers = json_of(detol({"trial", "nets", trial, "--arch", "-f", "json"}));
    ASSERT_EQ(layers.size(), seen["layers"].size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(layers[i]["layer"], seen["layers"][i]["name"]);
      EXPECT_EQ(layers[i]["op"], seen["layers"][i]["op"]);
    }
    const Ran exported =
        detol({"export", "nets", "--trial", trial, "--to", "json", "-o", "out", "--verify"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    Json file = Json::parse(text_of(folder_.path() / ("out/nets-trial" + trial + ".json")));
    EXPECT_EQ(file["metrics"]["params"], row["params"]);
    file["metrics"] = seen["metrics"];
    EXPECT_EQ(file, seen) << "the file is the export, before there were metrics";
  }
}

TEST_F(ProgramNetworks, OfOneKindAreTrainedOnceAndLargeOnesNever) {
  const Json all = query("SELECT arch_hash, failure, epochs, reason, trial FROM v_trials");
  const std::string runs = text_of(folder_.path() / "runs");
  std::map<std::string, int> trained;
  for (const Json& row : all) {
    const bool has_run =
        ("\n" + runs).find("\n" + std::to_string(row["trial"].get<int>()) + "\n") !=
        std::string::npos;
    if (row["failure"] == "too_large") {
      EXPECT_FALSE(has_run);
    } else {
      trained[row["arch_hash"]] += has_run ? 1 : 0;
    }
  }
  EXPECT_EQ(trained.size(), 4u);
  for (const auto& [network, count] : trained) EXPECT_EQ(count, 1) << network;
  EXPECT_GT(all.size(), 4u) << "some were refused or answered from the base";
}

TEST_F(ProgramNetworks, AreExportedAsFarAsDetolHasThem) {
  for (const char* format : {"dot", "pytorch"})
    EXPECT_EQ(detol({"export", "nets", "--to", format, "--verify"}).code, 0) << format;
  const Ran onnx = detol({"export", "nets", "--to", "onnx"});
  EXPECT_NE(onnx.code, 0);
  EXPECT_NE(onnx.err.find("study nets scores a command, which keeps the weights that it trains"),
            std::string::npos)
      << onnx.err;
}

}  // namespace
}  // namespace detol::testing_support
