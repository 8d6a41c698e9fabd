// The program from `search` to the exported model.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

TEST(Search, IsReadExportedAndQueried) {
  const TinyStudy study;
  const Ran search = study.detol(study.search_words());
  ASSERT_EQ(search.code, 0) << search.err;
  EXPECT_EQ(search.out, "");

  const Json status = Json::parse(study.detol({"status", "-f", "json"}).out);
  EXPECT_EQ(status["study"], "tiny");
  EXPECT_EQ(status["state"], "DONE");
  EXPECT_EQ(status["trained"], 6);

  const Json trials = Json::parse(study.detol({"trials", "tiny", "-f", "json"}).out);
  const Json best = Json::parse(study.detol({"best", "tiny", "-f", "json"}).out);
  double highest = 0;
  for (const Json& trial : trials) {
    for (const char* key : {"trial", "state", "values", "params", "architecture"})
      EXPECT_TRUE(trial.contains(key)) << key;
    if (trial["epochs"] > 0) highest = std::max(highest, trial["value"].get<double>());
  }
  EXPECT_EQ(best["values"]["val_accuracy"], highest);
  EXPECT_TRUE(best["params"].contains("lr"));
  EXPECT_TRUE(best["architecture"].contains("stages"));
  EXPECT_EQ(Json::parse(study.detol({"best", "tiny", "--top", "3", "-f", "json"}).out).size(), 3U);

  const Json curve =
      Json::parse(study.detol({"trial", "tiny", "best", "--curve", "-f", "json"}).out);
  EXPECT_EQ(curve.size(), best["epochs"]);
  EXPECT_EQ(curve.back()["val_accuracy"], highest);
  for (const char* what : {"--arch", "--log"}) {
    const Ran shown = study.detol({"trial", "tiny", "best", what, "-f", "json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_GE(Json::parse(shown.out).size(), 3U) << what;
  }

  const Ran exported = study.detol({"export", "tiny", "--trial", "best", "--to", "all", "-o",
                                    "models", "--verify", "-f", "json"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  for (const Json& file : Json::parse(exported.out))
    EXPECT_GT(text_of(study.path() / std::string(file["file"])).size(), 100U) << file;

  const Ran counted =
      study.detol({"query", "-f", "json", "SELECT count(*) AS n FROM v_trials WHERE epochs > 0"});
  EXPECT_EQ(Json::parse(counted.out), Json::parse(R"([{"n": 6}])"));
}

TEST(Search, WithOneWorkerIsTheSameTwice) {
  const TinyStudy first, second;
  auto words = first.search_words();
  words.insert(words.end(), {"--budget", "4trials"});
  ASSERT_EQ(first.detol(words).code, 0);
  ASSERT_EQ(second.detol(words).code, 0);
  EXPECT_EQ(first.results(), second.results());
}

TEST(Search, WithAnotherSeedIsAnother) {
  const TinyStudy first, second;
  auto words = first.search_words();
  words.insert(words.end(), {"--budget", "2trials"});
  ASSERT_EQ(first.detol(words).code, 0);
  words.insert(words.end(), {"--seed", "8"});
  ASSERT_EQ(second.detol(words).code, 0);
  EXPECT_NE(first.results(), second.results());
}

TEST(Search, TrainsOnTwoWorkersToo) {
  const TinyStudy study;
  const Ran search = study.detol(
      {"search", "--space", "tiny.yaml", "-j", "2", "--algorithm", "random", "--pruner", "median"});
  ASSERT_EQ(search.code, 0) << search.err;
  const Json status = Json::parse(study.detol({"status", "tiny", "-f", "json"}).out);
  EXPECT_GE(status["trained"], 6);
}

TEST(Search, WithLearnedCurvesIsTheSameTwiceAndEndsEveryTrial) {
  const TinyStudy first, second;
  auto words = first.search_words();
  words.insert(words.end(), {"--budget", "12trials", "--algorithm", "gp", "--pruner", "curve",
                             "--set", "search.pruner.startup=4"});
  const Ran search = first.detol(words);
  ASSERT_EQ(search.code, 0) << search.err;
  ASSERT_EQ(second.detol(words).code, 0);
  EXPECT_EQ(first.results(), second.results());
  const Ran counted = first.detol({"query", "-f", "json",
                                   "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE' OR "
                                   "state = 'PRUNED' OR state = 'FAIL'"});
  EXPECT_EQ(Json::parse(counted.out), Json::parse(R"([{"n": 12}])"));
}

TEST(Search, GoesOnWithMoreBudget) {
  const TinyStudy whole, parts;
  auto words = whole.search_words();
  ASSERT_EQ(whole.detol(words).code, 0);
  words.insert(words.end(), {"--budget", "4trials"});
  ASSERT_EQ(parts.detol(words).code, 0);
  const Ran resumed = parts.detol({"resume", "tiny", "--budget", "+2trials"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(parts.results(), whole.results());
}

TEST(Search, GoesOnWithAStudyThatGotANumber) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials", "--if-exists", "new"});
  ASSERT_EQ(study.detol(words).code, 0);
  ASSERT_EQ(study.detol(words).code, 0);
  const Ran resumed = study.detol({"resume", "tiny-2", "--budget", "2trials"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const Ran counted = study.detol({"query", "-f", "json", "SELECT study, trials FROM v_studies"});
  EXPECT_EQ(Json::parse(counted.out),
            Json::parse(R"([{"study": "tiny", "trials": 1}, {"study": "tiny-2", "trials": 2}])"));
}

TEST(Search, EndsAtItsTarget) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--target", "val_accuracy>=0.01"});
  ASSERT_EQ(study.detol(words).code, 0);
  const Json trials = Json::parse(study.detol({"trials", "tiny", "-f", "json"}).out);
  EXPECT_EQ(trials.size(), 1U);
}

TEST(Search, ADryRunCreatesNothing) {
  const TinyStudy study;
  const auto before = listing(study.path());
  auto words = study.search_words();
  words.insert(words.end(), {"--dry-run", "-f", "json"});
  const Ran ran = study.detol(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["budget"], "6trials");
  EXPECT_EQ(listing(study.path()), before);
}

}  // namespace
}  // namespace detol::testing_support
