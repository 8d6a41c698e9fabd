// What is known of networks after a search: test metrics, and models that were derived from a
// trial.

#include <filesystem>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"

namespace detol {
namespace {

using nlohmann::json;
using testing_support::Environment;
using testing_support::json_of;
using testing_support::last_line;
using testing_support::Searched;
using testing_support::TinyStudy;

TEST(Model, ASearchEndsWithTheTestScoreOfItsBestTrial) {
  const Searched tiny;
  ASSERT_EQ(tiny.search.code, 0) << tiny.search.err;
  const std::string line = last_line(tiny.search.err);
  EXPECT_NE(line.find("test_accuracy"), std::string::npos) << tiny.search.err;
  EXPECT_NE(line.find("val_accuracy"), std::string::npos);
  const json best = json_of(tiny.detol({"best", "tiny", "-f", "json"}));
  const double score = best["test"]["test_accuracy"];
  EXPECT_LE(best["test_interval"]["test_accuracy"][0], score);
  EXPECT_GE(best["test_interval"]["test_accuracy"][1], score);
  const json models = tiny.query("SELECT trial, kind, values_json FROM v_models");
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["trial"], best["trial"]);
  EXPECT_EQ(models[0]["kind"], "trial");
}

TEST(Model, TestMetricsAreMeasuredOnceAndThenNeedNoData) {
  const Searched tiny;
  const json first = json_of(tiny.detol({"test", "tiny", "--trial", "0", "-f", "json"}));
  std::filesystem::remove_all(tiny.path() / "data");
  const json again = json_of(tiny.detol({"test", "tiny", "--trial", "0", "-f", "json"}));
  EXPECT_EQ(first, again);
  EXPECT_EQ(again["trial"], 0);
  EXPECT_EQ(tiny.query("SELECT * FROM v_models WHERE trial = 0").size(), 1u);
}

TEST(Model, TestMetricsAreNotKnownToAResumedSearch) {
  Searched tiny, untested;
  ASSERT_EQ(tiny.detol({"test", "tiny", "--trial", "0"}).code, 0);
  for (const TinyStudy* study :
       {static_cast<TinyStudy*>(&tiny), static_cast<TinyStudy*>(&untested)})
    ASSERT_EQ(study->detol({"resume", "tiny", "--budget", "9trials", "--workers", "1"}).code, 0);
  EXPECT_EQ(tiny.results(), untested.results());
}

TEST(Model, APictureNeedsGraphvizAndEverythingElseDoesNot) {
  const Searched tiny;
  const Environment none("PATH", "/nowhere");
  const auto refused = tiny.detol({"export", "tiny", "--to", "svg"});
  EXPECT_EQ(refused.code, 7);
  EXPECT_NE(refused.err.find("needs the program dot of Graphviz"), std::string::npos)
      << refused.err;
  EXPECT_EQ(tiny.detol({"export", "tiny", "--to", "all"}).code, 0);
}

TEST(Model, WhatIsKnownOfModelsIsSound) {
  const Searched tiny;
  EXPECT_EQ(tiny.detol({"study", "copy", "tiny", "other"}).code, 0);
  EXPECT_EQ(tiny.query("SELECT * FROM v_models WHERE study = 'other'").size(), 1u);
  EXPECT_EQ(tiny.detol({"db", "check"}).code, 0);
}

}  // namespace
}  // namespace detol
