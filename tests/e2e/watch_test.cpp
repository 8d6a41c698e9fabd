// Tests of what a user sees: the live view, `status --watch`, `status` of a killed study.

#include <signal.h>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol {
namespace {

using namespace testing_support;

TEST(LiveView, EndsWithTheLastFrameAndAFewLines) {
  const TinyStudy study;
  auto words = study.search_words();
  for (const char* word : {"--progress", "live", "--color", "never"}) words.emplace_back(word);
  const Ran ran = study.detol(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("tiny  maximize val_accuracy"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("\033[Jstudy tiny: the budget is used up\n"
                         "export it: `detol export tiny --to onnx`\n"
                         "trial "),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST(LiveView, AKilledMasterIsReportedInTheFrameOfTheNext) {
  const TinyStudy study;
  auto words = study.search_words();
  for (const char* word : {"--progress", "live", "--budget", "1000000trials"})
    words.emplace_back(word);
  Program search(study.path(), words);
  ASSERT_TRUE(search.says("1 running")) << search.wait().err;
  for (const pid_t pid : search.children("__master")) ::kill(pid, SIGKILL);
  ASSERT_TRUE(search.says("! the master ended by signal 9")) << search.wait().err;
  search.signal(SIGINT);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 75) << ran.err;
  EXPECT_TRUE(ran.err.ends_with("stopped; resume with `detol resume tiny`\n")) << ran.err;
}

TEST(Watch, PrintsAFinishedStudyOnce) {
  const TinyStudy study;
  ASSERT_EQ(study.detol(study.search_words()).code, 0);
  const Ran ran = study.detol({"status", "tiny", "--watch"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("tiny  maximize val_accuracy")) << ran.out;
  EXPECT_NE(ran.out.find("elapsed  done\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("100 %  6/6 trials"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find('\033'), std::string::npos);
}

TEST(Watch, EndsWithTheStudyThatAnotherProcessRuns) {
  const TinyStudy study;
  Program search(study.path(), study.search_words());
  ASSERT_TRUE(search.says("trial 0 starts")) << search.wait().err;
  const Ran ran = study.detol({"status", "--watch"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("elapsed  done\n"), std::string::npos) << ran.out;
  EXPECT_EQ(search.wait().code, 0);
}

TEST(Status, SaysThatAStudyWasKilledAndHowToGoOn) {
  const TinyStudy study;
  Program search(study.path(), study.search_words());
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  EXPECT_NE(study.detol({"status"}).out.find("run by process "), std::string::npos);
  search.kill_everything();
  const Ran ran = study.detol({"status"});
  EXPECT_NE(ran.out.find("killed; resume with `detol resume tiny`"), std::string::npos) << ran.out;
  EXPECT_NE(study.detol({"status", "--watch"}).out.find("elapsed  killed\n"), std::string::npos);
}

}  // namespace
}  // namespace detol
