// A search of a small table ends with a choice among its best trials by cross-validation.

#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/searched_study.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using nlohmann::json;

// Two hundred records of two numbers, which tell the label but for every seventh record.
std::string noisy_table() {
  std::string text = "x,y,label\n";
  for (int i = 0; i < 200; ++i) {
    const int x = i * 37 % 101, y = i * 53 % 97;
    const bool is_large = x + y > 100;
    text += std::to_string(x) + ',' + std::to_string(y) + ',' +
            ((i % 7 == 0) != is_large ? "large" : "small") + '\n';
  }
  return text;
}

struct SmallTable {
  SmallTable() {
    write_bytes(path() / "t.csv", noisy_table());
    EXPECT_EQ(detol({"new", "table", "--data", "t.csv"}).code, 0);
  }
  const std::filesystem::path& path() const { return folder.path(); }
  Ran detol(const std::vector<std::string>& words) const { return run(path(), words); }
  Ran search(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"search", "--space", "t.yaml", "--budget",         "30trials",
                                      "-j",     "1",       "--set",  "training.epochs=9"};
    words.insert(words.end(), more.begin(), more.end());
    return detol(words);
  }
  json query(const std::string& sql) const { return json_of(detol({"query", sql, "-f", "json"})); }

  TempFolder folder;
};

TEST(FinalChoice, IsTheBestMeanOverTheFoldsAndIsWhatBestMeansFromThenOn) {
  const SmallTable table;
  const Ran ran = table.search();
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json models = table.query(
      "SELECT trial, trained_on, values_json->>'val_loss' AS loss, state FROM v_models WHERE kind "
      "= 'cross_validated' ORDER BY loss");
  ASSERT_GE(models.size(), 2u) << ran.err;
  const json best = json_of(table.detol({"best", "t", "-f", "json"}));
  EXPECT_EQ(best["trial"], models[0]["trial"]);
  EXPECT_EQ(best["cross_validation"]["val_loss"], models[0]["loss"]);
  EXPECT_EQ(models[0]["state"], "COMPLETE");
  EXPECT_NE(last_line(ran.err).find("by cross-validation ("), std::string::npos) << ran.err;
  EXPECT_NE(last_line(ran.err).find("trial " + best["trial"].dump() + ":"), std::string::npos);
  EXPECT_EQ(json_of(table.detol({"test", "t", "-f", "json"}))["trial"], best["trial"]);
  EXPECT_FALSE(std::filesystem::exists(table.path() / "detol.db.d" / "t" / "models" / "folds"));
}

TEST(FinalChoice, IsMadeOnceAndAgainWhereABetterTrialIsFound) {
  const SmallTable table;
  ASSERT_EQ(table.search().code, 0);
  const auto choices = [&] {
    return table.query("SELECT DISTINCT first FROM v_models WHERE kind = 'cross_validated'").size();
  };
  EXPECT_EQ(choices(), 1u);
  ASSERT_EQ(table.detol({"resume", "t", "--budget", "30trials"}).code, 0);
  EXPECT_EQ(choices(), 1u);
  ASSERT_EQ(table.detol({"resume", "t", "--budget", "60trials", "-j", "1"}).code, 0);
  const json best = json_of(table.detol({"best", "t", "-f", "json"}));
  EXPECT_TRUE(best.contains("cross_validation")) << "the last choice covers the best trial";
}

TEST(FinalChoice, IsLeftOutWhereTheSpaceSaysSo) {
  const SmallTable table;
  const Ran ran = table.search({"--set", "search.final_choice=none"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(
      table.query("SELECT count(*) AS n FROM v_models WHERE kind = 'cross_validated'")[0]["n"], 0);
  EXPECT_FALSE(json_of(table.detol({"best", "t", "-f", "json"})).contains("cross_validation"));
}

TEST(FinalChoice, ChangesNoTrialAndIsTheSameInEqualSearches) {
  const SmallTable one, other, without;
  ASSERT_EQ(one.search().code, 0);
  ASSERT_EQ(other.search().code, 0);
  ASSERT_EQ(without.search({"--set", "search.final_choice=none"}).code, 0);
  const std::string trials = "SELECT trial, state, epochs, value, values_json FROM v_trials";
  EXPECT_EQ(one.query(trials), without.query(trials));
  const std::string scores =
      "SELECT trial, trained_on, values_json FROM v_models WHERE kind = 'cross_validated'";
  EXPECT_GE(one.query(scores).size(), 2u);
  EXPECT_EQ(one.query(scores), other.query(scores));
}

TEST(FinalChoice, ItsScoresAreNoNetworks) {
  const SmallTable table;
  ASSERT_EQ(table.search().code, 0);
  const json models =
      table.query("SELECT model FROM v_models WHERE kind = 'cross_validated' LIMIT 1");
  ASSERT_EQ(models.size(), 1u);
  const Ran refused =
      table.detol({"export", "t", "--model", models[0]["model"].dump(), "--to", "json"});
  EXPECT_EQ(refused.code, 6);
  EXPECT_NE(refused.err.find("by cross-validation; it has no network of its own"),
            std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace detol::testing_support
