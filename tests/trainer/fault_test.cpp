// Injects faults into the training loop. Every training runs in a child process, because a process
// reads DETOL_FAULT once, and because another process must be able to resume the trial.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/samples.h"
#include "trainer/checkpoint.h"
#include "trainer/evaluator.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_idx;

constexpr int kEpochs = 3;

// The exit codes of a child; a signal that ended it is its negative number.
constexpr int kFinished = 0, kFailed = 10, kError = 20, kThrew = 30;

class TrainingFaults : public testing::Test {
 protected:
  TrainingFaults() { write_idx(folder_.path(), {.training = 200}); }

  Job job(std::string_view folder, int attempt = 1) const {
    const Recipe recipe{.lr = 0.02, .batch_size = 32, .epochs = kEpochs};
    Candidate candidate{.network = composite(4, {1, 12, 12}), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {.trial = 5,
            .attempt = attempt,
            .seed = 11,
            .candidate = std::move(candidate),
            .folder = folder_.path() / folder};
  }

  int train_in_child(const Job& job, const std::string& fault = "") const {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("DETOL_FAULT", fault.c_str(), 1);
      ::_exit(train(job));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  TempFolder folder_;

 private:
  int train(const Job& job) const try {
    const DataConfig data{.format = "idx", .path = folder_.path().string(), .validation = 0.2};
    Control control;
    const auto evaluation =
        make_trainer(data, {.backend = "reference"})
            .value()
            ->evaluate(
                job, [](const EpochReport&, bool) { return Verdict::kContinue; }, control);
    if (!evaluation) return kError + static_cast<int>(evaluation.error().code);
    if (evaluation->end == Evaluation::End::kFinished) return kFinished;
    return kFailed + static_cast<int>(evaluation->cause);
  } catch (const std::exception&) {
    return kThrew;
  }
};

// Returns what a finished training left as text, without the attempt and the seconds.
std::string traces_of(const Job& job) {
  const Checkpoint last = read_checkpoint(job.folder, kEpochs).value();
  std::string text = fmt::format("{} steps\n", last.step);
  for (const EpochReport& report : last.history) {
    text += fmt::format("epoch {} work {}", report.epoch, report.work);
    for (const Metric& metric : report.metrics)
      text += fmt::format(" {} {}", metric.name, metric.value);
    text += '\n';
  }
  for (const Tensor& tensor : last.state.weights)
    text += fmt::format("{} {}\n", tensor.name, fmt::join(tensor.data, " "));
  return text;
}

class Killed : public TrainingFaults, public testing::WithParamInterface<std::string> {};

TEST_P(Killed, ATrialThatIsKilledThereAtAnyVisitEndsAsIfItHadNotBeen) {
  const Job whole = job("whole");
  ASSERT_EQ(train_in_child(whole), kFinished);
  const std::string expected = traces_of(whole);
  for (int visit = 1;; ++visit) {
    ASSERT_LT(visit, 100) << "it never finishes";
    const Job first = job(fmt::format("{}", visit));
    const int end = train_in_child(first, fmt::format("{}:{}:kill", GetParam(), visit));
    if (end == kFinished) break;  // there is no such visit
    ASSERT_EQ(end, -SIGKILL);
    const Job second = job(fmt::format("{}", visit), 2);
    ASSERT_EQ(train_in_child(second), kFinished);
    EXPECT_EQ(traces_of(second), expected) << "killed at visit " << visit;
  }
}

INSTANTIATE_TEST_SUITE_P(EverySite, Killed,
                         testing::Values("train.step", "train.epoch", "train.report",
                                         "checkpoint.write", "file.write", "file.rename"),
                         [](const auto& row) {
                           std::string name = row.param;
                           name.replace(name.find('.'), 1, "_");
                           return name;
                         });

TEST_F(TrainingFaults, ALossThatIsNotANumberIsADivergedCandidate) {
  EXPECT_EQ(train_in_child(job("nan"), "train.step:7:nan"),
            kFailed + static_cast<int>(Cause::kDiverged));
}

TEST_F(TrainingFaults, AStepThatThrowsIsNoResult) {
  EXPECT_EQ(train_in_child(job("throw"), "train.step:7:throw"), kThrew);
}

TEST_F(TrainingFaults, ACheckpointThatCannotBeWrittenIsAnErrorAndTheFormerStands) {
  const Job one = job("eio");
  EXPECT_EQ(train_in_child(one, "checkpoint.write:2:eio"),
            kError + static_cast<int>(ErrorCode::kStorage));
  EXPECT_EQ(newest_checkpoint(one.folder, 1).value()->epoch, 1);
  for (const auto& entry : std::filesystem::directory_iterator(one.folder))
    EXPECT_EQ(entry.path().extension(), ".ckpt");
}

TEST_F(TrainingFaults, AFullDiskIsWaitedOut) {
  const Job whole = job("whole"), full = job("full");
  ASSERT_EQ(train_in_child(whole), kFinished);
  ASSERT_EQ(train_in_child(full, "checkpoint.write:2:enospc"), kFinished);
  EXPECT_EQ(traces_of(full), traces_of(whole));
}

// The damage shows when another attempt reads it.
TEST_F(TrainingFaults, ACheckpointThatIsDamagedOnItsWayToTheDiskCostsAnEpochAndNoBit) {
  const Job whole = job("whole"), hurt = job("hurt"), again = job("hurt", 2);
  ASSERT_EQ(train_in_child(whole), kFinished);
  ASSERT_EQ(train_in_child(hurt, fmt::format("checkpoint.write:{}:corrupt", kEpochs)), kFinished);
  EXPECT_FALSE(read_checkpoint(hurt.folder, kEpochs));
  ASSERT_EQ(train_in_child(again), kFinished);
  EXPECT_EQ(traces_of(again), traces_of(whole));
}

}  // namespace
}  // namespace detol
