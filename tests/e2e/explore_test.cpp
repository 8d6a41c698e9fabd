// `detol explore`: one designed sample, trained on several data sets.

#include <signal.h>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

class ExploredData {
 public:
  ExploredData() {
    write_idx(path() / "first");
    write_idx(path() / "second", {.side = 15, .seed = 2});
  }

  const std::filesystem::path& path() const { return study_.path(); }

  std::vector<std::string> words() const {
    return {"explore", "--space",  "tiny.yaml", "--data",    "first",
            "second",  "--budget", "6trials",   "--workers", "1"};
  }

  Ran detol(const std::vector<std::string>& words) const { return study_.detol(words); }

  std::string rows(const std::string& columns) const {
    return detol({"query", "-f", "csv",
                  "SELECT study, " + columns + " FROM v_trials ORDER BY study, trial"})
        .out;
  }

  // Returns everything that must be the same in every run.
  std::string results() const { return rows("trial, state, reason, epochs, value, params_json"); }

  std::string count(const std::string& of) const {
    return detol({"query", "-f", "csv", "SELECT count(*) AS n FROM " + of}).out;
  }

 private:
  TinyStudy study_;
};

std::string undisturbed() {
  const ExploredData data;
  const Ran ran = data.detol(data.words());
  EXPECT_EQ(ran.code, 0) << ran.err;
  return data.results();
}

TEST(Explore, TrainsTheSameCandidatesToTheirEndOnEveryDataSet) {
  const ExploredData data;
  const Ran ran = data.detol(data.words());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(data.count("v_trials WHERE state = 'COMPLETE' AND epochs = 3 AND algorithm = 'design'"),
            "n\n6\n");
  EXPECT_EQ(data.count("v_trials a JOIN v_trials b USING (trial, params_json) "
                       "WHERE a.study = 'tiny-first' AND b.study = 'tiny-second'"),
            "n\n3\n");
}

TEST(Explore, StoppedOrKilledInAnyStudyGoesOnThereAndEndsTheSame) {
  const std::string expected = undisturbed();
  for (const char* moment : {"trial 1 epoch 1:", "study tiny-second"}) {
    for (const int signal : {SIGTERM, SIGKILL}) {
      const ExploredData data;
      Program explore(data.path(), data.words());
      ASSERT_TRUE(explore.says(moment)) << explore.wait().err;
      if (signal == SIGKILL) {
        explore.kill_everything();
      } else {
        explore.signal(signal);
        EXPECT_EQ(explore.wait().code, 75) << moment;
      }
      const Ran again = data.detol(data.words());
      EXPECT_EQ(again.code, 0) << again.err;
      EXPECT_EQ(data.results(), expected) << moment << " " << signal;
    }
  }
}

TEST(Explore, ASecondTimeTrainsOnlyWhatALargerBudgetAdds) {
  const ExploredData data;
  ASSERT_EQ(data.detol(data.words()).code, 0);
  const std::string before = data.results();
  EXPECT_EQ(data.detol(data.words()).code, 0);
  EXPECT_EQ(data.results(), before);
  std::vector<std::string> words = data.words();
  words.insert(words.end(), {"--budget", "8trials"});
  EXPECT_EQ(data.detol(words).code, 0);
  EXPECT_EQ(data.count("v_trials"), "n\n8\n");
}

TEST(Explore, FindsEveryMistakeBeforeItTrainsAnything) {
  const ExploredData data;
  const auto fails = [&](const std::vector<std::string>& more, int code, const char* why) {
    std::vector<std::string> words = data.words();
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = data.detol(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(data.path() / "detol.db"));
  };
  fails({"--budget", "1trials"}, 2, "1trials are less than one for each of 2 data sets");
  fails({"--data", "other/first"}, 2, "would both be the study 'tiny-first'");
  fails({"--data", "missing"}, 3, "missing");
}

}  // namespace
}  // namespace detol::testing_support
