// Searches whose trials begin with the weights of others.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/e2e/searched_study.h"

namespace detol::testing_support {
namespace {

using Words = std::vector<std::string>;

Words inheriting(const TinyStudy& study, const std::string& mode) {
  Words words = study.search_words();
  const Words more = {"--budget", "12trials",
                      "--set",    "search.inherit=" + mode,
                      "--set",    "search.algorithm={name: evolution, startup: 3}"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Returns the share of its parent that each trial began with, as first reported.
nlohmann::json shares(const TinyStudy& study) {
  return json_of(study.detol({"query", "-f", "json",
                              "SELECT trial, max(value) AS share FROM v_metrics "
                              "WHERE name = 'inherited' GROUP BY trial"}));
}

TEST(Inherit, FromTheParentBeginsWithItsWeightsAndKeepsNoneForLater) {
  const TinyStudy study;
  Words words = inheriting(study, "parent");
  words.insert(words.end(), {"--pruner", "none"});  // a paused trial might begin again
  const Ran search = study.detol(words);
  ASSERT_EQ(search.code, 0) << search.err;
  const auto found = shares(study);
  EXPECT_GE(found.size(), 3u) << search.err;
  for (const auto& trial : found) {
    EXPECT_GE(trial["trial"], 3);  // the first are draws
    EXPECT_GT(trial["share"], 0);
  }
  const auto listed = study.detol({"trial", "tiny", "3", "--arch"}).out;
  const auto child = json_of(study.detol({"trial", "tiny", "3", "-f", "json"}));
  const std::string column = "from trial " + child["inherits"].dump();
  EXPECT_NE(listed.find(column), std::string::npos) << listed;
  EXPECT_NE(listed.find("inherited"), std::string::npos) << listed;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(study.path() / "detol.db.d/tiny")) {
    EXPECT_NE(entry.path().filename(), "parent") << entry.path();
  }
}

TEST(Inherit, FromTheNearestEndsWithTheSameResultsAfterAKill) {
  const TinyStudy whole;
  const Ran search = whole.detol(inheriting(whole, "nearest"));
  ASSERT_EQ(search.code, 0) << search.err;
  EXPECT_GE(shares(whole).size(), 6u) << search.err;
  for (const char* moment : {"trial 2 starts", "trial 2 epoch 1:", "trial 4 starts"}) {
    const TinyStudy study;
    Program killed(study.path(), inheriting(study, "nearest"));
    ASSERT_TRUE(killed.says(moment)) << killed.wait().err;
    killed.kill_everything();
    const Ran resumed = study.detol({"resume", "tiny"});
    EXPECT_EQ(resumed.code, 0) << moment << "\n" << resumed.err;
    EXPECT_EQ(study.results(), whole.results()) << moment;
  }
}

}  // namespace
}  // namespace detol::testing_support
