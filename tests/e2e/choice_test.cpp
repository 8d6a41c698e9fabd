// Studies whose training is not deterministic: every algorithm choice is recorded once, and
// outlives every process. Backends of GPUs have choices; tests/support/fake_gpu stands in for one.

#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

class Choice : public testing::Test {
  const Environment library_{"DETOL_CUDA_LIBRARY", DETOL_FAKE_GPU};
};

std::vector<std::string> timed_search(const TinyStudy& study) {
  std::vector<std::string> words = study.search_words();
  words.insert(words.end(), {"--set", "training.deterministic=false"});
  return words;
}

// Each choice in the order in which it was recorded.
std::string choices_of(const TinyStudy& study) {
  return study
      .detol({"query", "-f", "csv",
              "SELECT seq, payload->>'key', payload->>'way' FROM events WHERE kind = 'chosen' "
              "ORDER BY seq"})
      .out;
}

void expect_sound_choices(const TinyStudy& study) {
  const auto counted = nlohmann::json::parse(
      study
          .detol({"query", "-f", "json",
                  "SELECT count(*) AS all_of_them, count(DISTINCT payload->>'key') AS keys "
                  "FROM events WHERE kind = 'chosen'"})
          .out);
  EXPECT_GT(counted[0]["keys"], 0);
  EXPECT_EQ(counted[0]["all_of_them"], counted[0]["keys"]);
  EXPECT_EQ(study.detol({"db", "check"}).code, 0);
}

// Expects sound choices of a search in which the fault occurs once.
void expect_sound_choices_despite(const char* fault) {
  const TinyStudy study;
  const Environment mark("DETOL_FAULT_MARK", (study.path() / "happened").string());
  const Environment disturbed("DETOL_FAULT", fault);
  const Ran ran = study.detol(timed_search(study));
  EXPECT_EQ(ran.code, 0) << fault << "\n" << ran.err;
  EXPECT_TRUE(std::filesystem::exists(study.path() / "happened")) << fault;
  expect_sound_choices(study);
}

TEST_F(Choice, IsRecordedAndASearchThatWasKilledGoesOnWithIt) {
  const TinyStudy study;
  Program search(study.path(), timed_search(study));
  ASSERT_TRUE(search.says("trial 2 epoch 1:")) << search.wait().err;
  search.kill_everything();
  const std::string before = choices_of(study);
  const Ran resumed = study.detol({"resume", "tiny"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(choices_of(study).substr(0, before.size()), before);
  expect_sound_choices(study);
}

TEST_F(Choice, IsNotMadeWhereTrainingIsDeterministic) {
  const TinyStudy study;
  ASSERT_EQ(study.detol(study.search_words()).code, 0);
  EXPECT_EQ(choices_of(study).find("fake conv"), std::string::npos);
}

TEST_F(Choice, ThatAWorkerTakesAlongWhenItDiesIsMadeAgain) {
  for (const char* fault : {"worker.choice:1:kill", "worker.choice:1:throw"})
    expect_sound_choices_despite(fault);
}

TEST_F(Choice, IsTheLeadersInAGroupOfRanks) {
  const TinyStudy study;
  std::vector<std::string> words = timed_search(study);
  words.insert(words.end(), {"--group-size", "2", "--budget", "2trials"});
  const Ran ran = study.detol(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_sound_choices(study);
}

// One worker leaves the other devices of this machine idle. Nothing was measured, which is said;
// and one size says nothing of how groups scale.
TEST(GroupSizeAuto, UsesIdleDevicesWhereTrainingIsNotDeterministic) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "this machine has one core";
  std::string said;
  const auto sizes = [&](const std::vector<std::string>& more) {
    const TinyStudy study;
    std::vector<std::string> words = study.search_words();
    words.insert(words.end(), {"--budget", "2trials"});
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = study.detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    said = ran.err;
    return nlohmann::json::parse(study.detol({"status", "-f", "json"}).out);
  };
  EXPECT_EQ(sizes({})["group_sizes"], "1");
  const auto wider = sizes({"--set", "training.deterministic=false"});
  EXPECT_EQ(wider["group_sizes"], "2") << wider;
  EXPECT_NE(said.find("no two sizes were measured"), std::string::npos) << said;
  for (const char* figure : {"strong_scaling", "weak_scaling", "advised_group_size"})
    EXPECT_TRUE(wider[figure].is_null()) << wider;
}

TEST_F(Choice, OutlivesAMasterThatDiesBeforeOrAfterItIsDurable) {
  for (const char* fault : {"ledger.commit:4:kill", "ledger.committed:4:kill"})
    expect_sound_choices_despite(fault);
}

}  // namespace
}  // namespace detol::testing_support
