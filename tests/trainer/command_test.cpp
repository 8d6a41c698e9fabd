// A program of the user is told its trial, and what it reports becomes the trial's reports and end.

#include "trainer/command.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

struct CommandRan {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
};

class Command : public testing::Test {
 protected:
  // The objective is loss; `settings` are further ones of the command.
  StudyConfig study(const std::string& script, const std::string& settings = "") const {
    std::ofstream(folder_.path() / "p.sh") << script;
    const auto loaded = load_study_config(
        "version: 1\nstudy: s\ncommand:\n  run: [sh, " + (folder_.path() / "p.sh").string() +
            ", '{lr}']\n" + settings +
            "parameters: {lr: {type: float, low: 0.5, high: 1}, opt: {type: categorical, choices: "
            "[sgd, adam]}}\nobjectives: [{metric: loss, direction: minimize}]\n",
        "s.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return *loaded;
  }

  Job job_of(const StudyConfig& config) const {
    const std::pair<std::string, Value> values[] = {{"lr", 0.5}, {"opt", std::string("adam")}};
    const Genome genome = config.space.genome(values).value();
    return {.trial = 7,
            .candidate = config.candidate(genome, {}).value(),
            .genome = genome,
            .folder = folder_.path() / "trial"};
  }

  CommandRan run(const StudyConfig& config, const Job& job, const TrainerOptions& options = {},
                 Verdict verdict = Verdict::kContinue) {
    CommandRan ran;
    Control control;
    const Reporter report = [&](const EpochReport& epoch, bool) {
      ran.reports.push_back(epoch);
      return verdict;
    };
    ran.evaluation = make_command(config, options).value()->evaluate(job, report, control).value();
    return ran;
  }
  CommandRan run(const StudyConfig& config, const TrainerOptions& options = {},
                 Verdict verdict = Verdict::kContinue) {
    return run(config, job_of(config), options, verdict);
  }

  // Returns what a script prints into the file "said" of its trial.
  std::string said() const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / "trial/said").rdbuf();
    return text.str();
  }

  testing_support::TempFolder folder_;
};

const std::string kReport = "\necho '{\"loss\": 1}' >> $DETOL_REPORT\n";

std::string losses_of(const CommandRan& ran) {
  std::ostringstream text;
  for (const EpochReport& report : ran.reports)
    text << report.epoch << ":" << report.metrics.at(0).value << " ";
  return text.str();
}

// NumPy takes seeds of 32 bits.
TEST_F(Command, IsToldItsParametersItsSeedAndItsTrial) {
  const StudyConfig config = study(
      "echo $1 $DETOL_PARAMS $DETOL_SEED $DETOL_TRIAL $DETOL_STUDY $MODE > $DETOL_TRIAL_DIR/said" +
          kReport,
      "  environment: {MODE: fast}\n");
  Job job = job_of(config);
  job.seed = (std::uint64_t{1} << 40) + 5;
  EXPECT_EQ(run(config, job).evaluation.end, Evaluation::End::kFinished);
  EXPECT_EQ(said(), "0.5 {\"lr\":0.5,\"opt\":\"adam\"} 5 7 s fast\n");
}

TEST_F(Command, GetsTheWordsOfResumingOnceItHasACheckpoint) {
  const StudyConfig config =
      study("echo \"$2 $3\" > $DETOL_TRIAL_DIR/said; touch $DETOL_CHECKPOINT" + kReport,
            "  resume: [--from, '{trial.checkpoint}']\n");
  run(config);
  EXPECT_EQ(said(), " \n");
  run(config);
  EXPECT_EQ(said(), "--from " + (folder_.path() / "trial/checkpoint").string() + "\n");
}

TEST_F(Command, HasForEachRankItsShareOfTheThreads) {
  ::unsetenv("OMP_NUM_THREADS");
  const std::string script = "echo $OMP_NUM_THREADS $DETOL_RANKS > $DETOL_TRIAL_DIR/said" + kReport;
  const TrainerOptions options{.program_ranks = 2, .program_threads = 8};
  run(study(script, "  launch: [env, 'LAUNCHED={ranks}']\n"), options);
  EXPECT_EQ(said(), "4 2\n");
  run(study(script), {.program_threads = 8});
  EXPECT_EQ(said(), "8 1\n");
  run(study(script, "  launch: [env]\n"), {.program_ranks = 2, .program_threads = 1});
  EXPECT_EQ(said(), "1 2\n") << "never none";
  run(study(script, "  bind: none\n"), {.program_threads = 8});
  EXPECT_EQ(said(), "1 1\n") << "of cores that are not its own";
  ::setenv("OMP_NUM_THREADS", "3", 1);
  run(study(script), {.program_threads = 8});
  EXPECT_EQ(said(), "3 1\n") << "what the user says";
  ::unsetenv("OMP_NUM_THREADS");
}

TEST_F(Command, ReportsStepsInOrderButNotThoseThatAreKnown) {
  const StudyConfig config = study(
      "for i in 1 2 3; do echo \"{\\\"step\\\": $i, \\\"loss\\\": 0.$i}\" >> $DETOL_REPORT; done",
      "  steps: 3\n");
  EXPECT_EQ(losses_of(run(config)), "1:0.1 2:0.2 3:0.3 ");
  fs::remove_all(folder_.path() / "trial");
  Job job = job_of(config);
  job.acknowledged = 2;
  EXPECT_EQ(losses_of(run(config, job)), "3:0.3 ");
}

TEST_F(Command, StepsBeyondThoseThatWereAskedForAreTheLast) {
  const StudyConfig config =
      study("echo '{\"step\": 5, \"loss\": 0.5}' >> $DETOL_REPORT", "  steps: 3\n");
  EXPECT_EQ(losses_of(run(config)), "3:0.5 ");
}

TEST_F(Command, DivergesByAnObjectiveAndNotByWhatElseItReports) {
  const CommandRan harmless = run(study("echo '{\"loss\": 0.5, \"norm\": NaN}' >> $DETOL_REPORT"));
  EXPECT_EQ(harmless.evaluation.end, Evaluation::End::kFinished);
  EXPECT_EQ(harmless.reports.size(), 1u);
  fs::remove_all(folder_.path() / "trial");
  const CommandRan diverged = run(study("echo '{\"loss\": NaN}' >> $DETOL_REPORT"));
  EXPECT_EQ(diverged.evaluation.end, Evaluation::End::kFailed);
  EXPECT_EQ(diverged.evaluation.cause, Cause::kDiverged);
  EXPECT_EQ(diverged.evaluation.reason, "loss is nan in step 1");
  EXPECT_TRUE(diverged.reports.empty());
}

TEST_F(Command, SucceedsWithTheExitCodesOfSuccess) {
  const std::string success = "  success: [0, 3]\n";
  EXPECT_EQ(run(study(kReport + "exit 3", success)).evaluation.end, Evaluation::End::kFinished);
  const CommandRan failed = run(study(kReport + "echo no memory; exit 4", success));
  EXPECT_EQ(failed.evaluation.cause, Cause::kCrashed);
  EXPECT_EQ(failed.evaluation.reason, "the program ended with exit code 4: no memory");
  const CommandRan killed = run(study(kReport + "kill -9 $$", success));
  EXPECT_EQ(killed.evaluation.cause, Cause::kCrashed);
  EXPECT_NE(killed.evaluation.reason.find("killed by signal 9"), std::string::npos);
}

TEST_F(Command, WithoutAReportIsInvalid) {
  const CommandRan ran = run(study("echo '{\"accuracy\": 1}' >> $DETOL_REPORT"));
  EXPECT_EQ(ran.evaluation.cause, Cause::kInvalid);
  EXPECT_NE(ran.evaluation.reason.find("it reported accuracy; the objective is loss"),
            std::string::npos)
      << ran.evaluation.reason;
}

TEST_F(Command, EndsWhereTheMasterSaysSo) {
  const StudyConfig config =
      study("echo '{\"step\": 1, \"loss\": 1}' >> $DETOL_REPORT; exec sleep 1000",
            "  steps: 10\n  stop: {signal: TERM, grace: 60s}\n");
  EXPECT_EQ(run(config, {}, Verdict::kStop).evaluation.end, Evaluation::End::kFinished);
  fs::remove_all(folder_.path() / "trial");
  EXPECT_EQ(run(config, {}, Verdict::kSuspend).evaluation.end, Evaluation::End::kSuspended);
}

}  // namespace
}  // namespace detol
