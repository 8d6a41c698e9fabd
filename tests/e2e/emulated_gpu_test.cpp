// Searches by the GPU backend itself, on the device that tests/support/cuda emulates.

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

class EmulatedGpu : public testing::Test {
 protected:
  // Runs a search of two trials on a device with these settings (tests/support/cuda/state.h).
  Ran search(const std::string& device, const std::string& precision = "fp32",
             const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = study.search_words();
    for (const char* word : {"--budget", "2trials", "--device", "cuda", "--set"})
      words.emplace_back(word);
    words.push_back("training.precision=" + precision);
    words.insert(words.end(), more.begin(), more.end());
    return Program(study.path(), words,
                   {"DETOL_CUDA_LIBRARY=" DETOL_EMULATED_GPU, "DETOL_EMULATED_DEVICE=" + device})
        .wait();
  }

  std::string states() const {
    return study
        .detol({"query", "-f", "csv", "SELECT trial, state, failure FROM v_trials ORDER BY trial"})
        .out;
  }

  TinyStudy study;
};

TEST_F(EmulatedGpu, ASearchRunsOnItInEveryPrecision) {
  for (const char* precision : {"fp32", "tf32", "bf16"}) {
    SCOPED_TRACE(precision);
    const Ran ran = search("devices:1", precision);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(states().find("FAIL"), std::string::npos) << states();
    for (const char* name : {"detol.db", "detol.db-wal", "detol.db-shm", "detol.db.d"})
      std::filesystem::remove_all(study.path() / name);
  }
}

TEST_F(EmulatedGpu, RanksOfAGroupTrainOnDevicesOfTheirOwnOrShareOne) {
  for (const char* devices : {"devices:2", "devices:1"}) {
    const Ran ran = search(devices, "fp32", {"--group-size", "2", "--if-exists", "new"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(states().find("FAIL"), std::string::npos) << states();
  }
}

TEST_F(EmulatedGpu, ATrialWhoseDeviceBreaksGoesOnInAnotherProcess) {
  const Ran ran = search("launch:2000");  // after the first trial's epoch
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("illegal"), std::string::npos) << ran.err;
  EXPECT_EQ(states().find("FAIL"), std::string::npos) << states();
}

TEST_F(EmulatedGpu, AStudyThatWasKilledAndResumedHasTheNumbersOfOneLeftAlone) {
  ASSERT_EQ(search("devices:1", "bf16").code, 0);
  const std::string undisturbed = study.results();
  const TinyStudy other;
  std::vector<std::string> words = other.search_words();
  for (const char* word :
       {"--budget", "2trials", "--device", "cuda", "--set", "training.precision=bf16"})
    words.emplace_back(word);
  const std::vector<std::string> variables = {"DETOL_CUDA_LIBRARY=" DETOL_EMULATED_GPU};
  {
    Program killed(other.path(), words, variables);
    ASSERT_TRUE(killed.says("epoch 1"));
    killed.kill_everything();
  }
  const Ran resumed = Program(other.path(), {"resume", "tiny", "-j", "1"}, variables).wait();
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(other.results(), undisturbed);
}

TEST_F(EmulatedGpu, ModelsHaveTheSameNumbersOnAnyNumberOfDevices) {
  ASSERT_EQ(search("devices:1").code, 0);
  const TinyStudy other;
  std::filesystem::copy(
      study.path(), other.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const auto retrain = [](const TinyStudy& of, const std::string& device) {
    return Program(of.path(), {"retrain", "tiny", "--seeds", "2", "-f", "json"},
                   {"DETOL_CUDA_LIBRARY=" DETOL_EMULATED_GPU, "DETOL_EMULATED_DEVICE=" + device})
        .wait();
  };
  const Ran one = retrain(study, "devices:1"), two = retrain(other, "devices:2");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out, one.out);
  const Ran broken = retrain(study, "launch:2000");
  EXPECT_NE(broken.err.find("started again: cuda:"), std::string::npos) << broken.err;
}

TEST_F(EmulatedGpu, TrialsThatLoseItEveryTimeFailAsCrashed) {
  const Ran ran = search("lost:100");
  EXPECT_NE(states().find("0,FAIL,crashed"), std::string::npos) << ran.err << states();
}

TEST_F(EmulatedGpu, WhatFindsNoMemoryOnItFailsAsOutOfMemory) {
  const Ran ran = search("malloc:5");
  EXPECT_NE(states().find("FAIL,oom"), std::string::npos) << ran.err << states();
}

TEST_F(EmulatedGpu, WhereItIsNotThereASearchOnItIsRefused) {
  const Ran ran = search("none");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("device"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace detol::testing_support
