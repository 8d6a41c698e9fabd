// Models in eight bits.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/searched_study.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::json_of;
using testing_support::Ran;
using testing_support::Searched;
using testing_support::text_of;

TEST(Quantize, GivesATestedModelThatExportsVerifiesAndPredicts) {
  const Searched tiny;
  const Ran ran = tiny.detol({"quantize", "tiny", "-f", "json"});
  const json models = json_of(ran);
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["state"], "COMPLETE");
  EXPECT_TRUE(models[0]["values"].contains("val_accuracy"));
  const json before = json_of(tiny.detol({"test", "tiny", "-f", "json"}))["test"];
  EXPECT_NEAR(models[0]["test"]["test_accuracy"], before["test_accuracy"].get<double>(), 0.05);
  EXPECT_NE(ran.err.find("before: test_accuracy"), std::string::npos) << ran.err;
  const Ran exported = tiny.detol({"export", "tiny", "--model", "2", "--to", "all", "--verify"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_NE(text_of(tiny.path() / "tiny-model2.onnx").find("QuantizeLinear"), std::string::npos);
  const std::string images = "data/t10k-images-idx3-ubyte";
  const Ran answer = tiny.detol({"predict", "tiny", "--model", "2", "--data", images});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(tiny.detol({"predict", "tiny-model2.onnx", "--data", images}).out, answer.out);
}

TEST(Quantize, TakesAPrunedModelAndOtherImages) {
  const Searched tiny;
  json_of(tiny.detol({"prune", "tiny", "--trial", "0", "--to", "params=0.6", "-f", "json"}));
  json_of(tiny.detol({"quantize", "tiny", "--model", "2", "--images", "16", "-f", "json"}));
  const json row = tiny.query(
      "SELECT kind, trial, parent, settings->>'images' AS images FROM v_models WHERE model = 3")[0];
  EXPECT_EQ(row["kind"], "quantised");
  EXPECT_EQ(row["trial"], 0);
  EXPECT_EQ(row["parent"], 2);
  EXPECT_EQ(row["images"], 16);
}

TEST(Quantize, OfEqualStudiesGivesEqualModels) {
  const Searched one, other;
  EXPECT_EQ(json_of(one.detol({"quantize", "tiny", "-f", "json"})),
            json_of(other.detol({"quantize", "tiny", "-f", "json"})));
}

TEST(Quantize, SaysInALineWhatItCannotDo) {
  const Searched tiny;
  EXPECT_EQ(tiny.detol({"quantize", "tiny", "--model", "9"}).code, 6);
  EXPECT_EQ(tiny.detol({"quantize", "tiny", "--images", "0"}).code, 2);
  EXPECT_EQ(tiny.detol({"quantize", "tiny", "--model", "1", "--trial", "0"}).code, 2);
  EXPECT_EQ(tiny.query("SELECT count(*) AS count FROM v_models")[0]["count"], 1);
  ASSERT_EQ(tiny.detol({"quantize", "tiny"}).code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"prune", "tiny", "--model", "2", "--to", "flops=0.9"},
        std::vector<std::string>{"quantize", "tiny", "--model", "2"}}) {
    const Ran refused = tiny.detol(words);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find("is in eight bits"), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace detol
