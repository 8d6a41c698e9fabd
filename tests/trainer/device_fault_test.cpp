// Tests how a trial ends on a device that fails, wherever it fails: no memory is the candidate's
// result, a broken device is an error, and there is never a crash or a wrong number. Each trial
// runs in a child process of this program, on the emulated device, which fails where it is told to.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trainer/samples.h"
#include "tests/trainer/trial_runs.h"

namespace detol {
namespace {

using namespace testing_support;

// Exit is the exit code of a child.
enum Exit { kFinished = 40, kOutOfMemory, kOther, kError, kThrew };

class DeviceFault : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("DETOL_CUDA_LIBRARY") == nullptr || !tests_the_gpu())
      GTEST_SKIP() << "runs on the emulated device alone";
  }

  // Runs one trial on a device that `words` set up (tests/support/cuda/state.h); its checkpoints
  // stay.
  int trial_on(const std::string& words, const std::string& name = "trial") const {
    std::vector<std::string> variables = {"DETOL_EMULATED_DEVICE=" + words,
                                          "DETOL_TEST_FOLDER=" + folder_of(name)};
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (!std::string_view(*variable).starts_with("DETOL_EMULATED_DEVICE=") &&
          !std::string_view(*variable).starts_with("GTEST_"))
        variables.emplace_back(*variable);
    std::vector<std::string> arguments = {"device_fault",
                                          "--gtest_filter=DeviceFault.DISABLED_Trial",
                                          "--gtest_also_run_disabled_tests"};
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(),
                    pointers(variables).data()) != 0)
      return -1;
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << words << ": signal " << WTERMSIG(status);
    return WEXITSTATUS(status);
  }

  std::vector<std::uint32_t> bits_of(const std::string& name) const {
    return bits(newest_checkpoint(folder_of(name), 1).value().value().state);
  }

 private:
  std::string folder_of(const std::string& name) const { return (folder_.path() / name).string(); }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }

  const TempFolder folder_;
};

int run_trial() try {
  Recipe recipe = easy_recipe();
  recipe.epochs = 2;
  Candidate candidate{.network = composite(12, {1, 12, 12}), .recipe = recipe, .cost = {}};
  candidate.cost = cost_of(candidate.network).value();
  const Job job{.trial = 5,
                .seed = 11,
                .candidate = std::move(candidate),
                .folder = std::getenv("DETOL_TEST_FOLDER")};
  Control control;
  const auto trainer = make_trainer(data(), {.backend = "cudnn"});
  if (!trainer) return kError;
  const auto evaluation = (*trainer)->evaluate(
      job, [](const EpochReport&, bool) { return Verdict::kContinue; }, control);
  if (!evaluation) return kError;
  if (evaluation->end == Evaluation::End::kFinished) return kFinished;
  return evaluation->cause == Cause::kOutOfMemory ? Exit::kOutOfMemory : kOther;
} catch (const std::exception&) {
  return kThrew;
}

// The child processes run this test.
TEST_F(DeviceFault, DISABLED_Trial) {
  std::_Exit(run_trial());
}

// A data set that does not fit on the device stays on the host, and the trial continues.
TEST_F(DeviceFault, MemoryThatRunsOutAnywhereIsTheCandidatesResult) {
  int ran_out = 0, end = Exit::kOutOfMemory;
  for (int at = 1; at <= 16; ++at) {
    end = trial_on("malloc:" + std::to_string(at), std::to_string(at));
    EXPECT_TRUE(end == Exit::kOutOfMemory || end == kFinished) << at << ": " << end;
    ran_out += end == Exit::kOutOfMemory;
  }
  EXPECT_EQ(end, kFinished);
  EXPECT_GE(ran_out, 2);
}

TEST_F(DeviceFault, ADeviceThatBreaksAnywhereIsAnErrorAndNoResult) {
  for (const char* fault : {"launch:", "lost:"}) {
    int broke = 0, end = kThrew;
    for (int at = 1; end == kThrew || end == kError; at = at * 2 + 1) {
      ASSERT_LT(at, 100'000) << "it never finishes";
      end = trial_on(fault + std::to_string(at), fault + std::to_string(at));
      broke += end != kFinished;
    }
    EXPECT_EQ(end, kFinished) << fault;
    EXPECT_GE(broke, 8) << fault;
  }
}

// Kernels add up in a fixed order, and wait for other kernels before they read their results.
TEST_F(DeviceFault, WhatRunsFirstOnTheDeviceChangesNoBit) {
  ASSERT_EQ(trial_on("devices:1", "forwards"), kFinished);
  for (const char* words : {"reversed", "lazy", "lazy,reversed"}) {
    ASSERT_EQ(trial_on(words, words), kFinished);
    EXPECT_EQ(bits_of(words), bits_of("forwards")) << words;
  }
}

}  // namespace
}  // namespace detol
