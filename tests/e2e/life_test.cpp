// The life of the processes of a search, those of the user's programs among them: where they run,
// that they stand still at Ctrl-Z, and that nothing of them is left.

#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words tune_of(const Words& options, const Words& program) {
  Words words = {"tune",    "--metric",     "loss:minimize", "--study", "s",
                 "--param", "x=float(0,1)", "--progress",    "none"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Json rows_of(const TempFolder& folder, const std::string& sql) {
  return Json::parse(run(folder.path(), {"query", sql, "-f", "json"}).out, nullptr, false);
}

// OneCore: this process, and what it starts, may use the first of its cores alone.
class OneCore {
 public:
  OneCore() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    CPU_SET(first, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

TEST(Affinity, SaysHowManyWorkersAndThreadsThereAre) {
  const TempFolder folder;
  const OneCore one;
  const Ran doctor = run(folder.path(), {"doctor", "-f", "json"});
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) {
    EXPECT_NE(doctor.out.find(" cores (affinity mask)"), std::string::npos) << doctor.out;
    EXPECT_NE(doctor.out.find(", 1 of "), std::string::npos) << doctor.out;
  }
  const Words program = {"sh", "-c",
                         "echo $OMP_NUM_THREADS >> threads; echo '{\"loss\": 1}' >> $DETOL_REPORT"};
  ASSERT_EQ(run(folder.path(), tune_of({"-j", "auto", "--budget", "2trials"}, program)).code, 0);
  EXPECT_EQ(rows_of(folder, "SELECT workers FROM v_runs")[0]["workers"], 1);
  EXPECT_EQ(text_of(folder.path() / "threads"), "1\n1\n");
  const Ran more = run(folder.path(), {"resume", "s", "-j", "3", "--budget", "3trials"});
  EXPECT_NE(more.err.find("3 processes share 1 core"), std::string::npos) << more.err;
}

TEST(Threads, AreWhatTheUserSaysOrTheCoresOfAWorker) {
  const TempFolder folder;
  const Words program = {"sh", "-c",
                         "echo $OMP_NUM_THREADS$DETOL_PROGRAM_THREADS > threads; "
                         "echo '{\"loss\": 1}' >> $DETOL_REPORT"};
  const Words words = tune_of({"-j", "1", "--budget", "1trials", "--if-exists", "new"}, program);
  ASSERT_EQ(Program(folder.path(), words, {"OMP_NUM_THREADS=7"}).wait().code, 0);
  EXPECT_EQ(text_of(folder.path() / "threads"), "7\n");
}

bool is_there(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z";
}

// What `pkill -9 detol` does, and worse: every process of detol is killed, the reapers, too.
TEST(Orphans, OfAProgramDieWithEverythingThatIsDetol) {
  const TempFolder folder;
  const Words program = {
      "sh", "-c",
      "sleep 1000 & echo $! > child; setsid sleep 1000 & echo $! > other; echo $$ > shell; "
      "echo '{\"loss\": 1}' >> $DETOL_REPORT; touch ready; wait"};
  Program search(folder.path(), tune_of({"-j", "1", "--budget", "2trials"}, program));
  while (!std::filesystem::exists(folder.path() / "ready")) ASSERT_FALSE(search.ends_within(0.05));
  std::vector<pid_t> victims;
  for (const char* role : {"tree-reaper", "__master", "__worker"}) {
    for (const pid_t pid : search.children(role)) victims.push_back(pid);
  }
  search.signal(SIGKILL);
  for (const pid_t pid : victims) ::kill(pid, SIGKILL);
  search.wait();
  for (const char* name : {"child", "other", "shell"}) {
    const pid_t pid = std::stoi(text_of(folder.path() / name));
    for (int i = 0; i < 10'000 && is_there(pid); ++i) ::usleep(1000);
    EXPECT_FALSE(is_there(pid)) << name;
    if (is_there(pid)) ::kill(pid, SIGKILL);
  }
}

// A shell with job control makes the search a group of its own and continues it; the search is
// sent what Ctrl-Z sends. What runs in between is counted.
TEST(Suspended, StandsStillUntilItIsContinued) {
  if (std::system("command -v bash > /dev/null") != 0) GTEST_SKIP() << "there is no bash";
  const TempFolder folder;
  write_bytes(folder.path() / "train.sh",
              "echo x >> ran; sleep 0.05; echo '{\"loss\": 1}' >> $DETOL_REPORT");
  std::string command;
  for (const std::string& word : tune_of({"-j", "1", "--budget", "12trials"}, {"sh", "train.sh"}))
    command += " '" + word + "'";
  write_bytes(folder.path() / "shell.sh",
              "set -m\n" + tested_program() + command +
                  " < /dev/null > out 2>&1 & search=$!\n"
                  "until [ -s ran ]; do sleep 0.02; done\n"
                  "kill -TSTP $search\n"
                  "until grep -q '^State:.T' /proc/$search/status; do sleep 0.02; done\n"
                  "wc -l < ran > counts; sleep 0.5; wc -l < ran >> counts\n"
                  "kill -CONT $search; while kill -0 $search; do sleep 0.02; done 2> /dev/null\n"
                  "wait $search; echo $? > code\n");
  const std::string started = "cd " + folder.path().string() + " && bash shell.sh";
  ASSERT_EQ(std::system(started.c_str()), 0);
  std::istringstream counts(text_of(folder.path() / "counts"));
  int before = 0, after = 0;
  counts >> before >> after;
  EXPECT_EQ(before, after);
  EXPECT_LT(after, 12);
  EXPECT_EQ(text_of(folder.path() / "code"), "0\n") << text_of(folder.path() / "out");
  const Json rows = rows_of(folder, "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'");
  EXPECT_EQ(rows[0]["n"], 12);
}

// The pattern of docs/tuning.md: the report, then the checkpoint. The program dies at any signal.
TEST(PausedProgram, LosesNoStepIfItReportsBeforeItsCheckpoint) {
  const TempFolder folder;
  write_bytes(folder.path() / "train.sh",
              "step=0; [ -e $DETOL_CHECKPOINT ] && step=$(cat $DETOL_CHECKPOINT)\n"
              "while [ $step -lt 9 ]; do step=$((step + 1))\n"
              "echo \"{\\\"step\\\": $step, \\\"loss\\\": $1}\" >> $DETOL_REPORT\n"
              "echo $step > $DETOL_CHECKPOINT.new; mv $DETOL_CHECKPOINT.new $DETOL_CHECKPOINT\n"
              "sleep 0.05; done");
  const Ran ran =
      run(folder.path(),
          tune_of({"-j", "2", "--budget", "12trials", "--steps", "9", "--pruner", "asha"},
                  {"sh", "train.sh", "{x}"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json rows = rows_of(folder,
                            "SELECT trial, count(*) AS n, max(epoch) AS last FROM v_metrics "
                            "WHERE name = 'loss' GROUP BY trial");
  EXPECT_EQ(rows.size(), 12u);
  for (const Json& row : rows) EXPECT_EQ(row["n"], row["last"]) << row;
}

TEST(APruner, DoesNotCallATrialPrunedWhoseProgramHasEnded) {
  const TempFolder folder;
  for (const char* pruner : {"asha", "median"}) {
    const Ran ran =
        run(folder.path(),
            tune_of({"-j", "1", "--budget", "8trials", "--pruner", pruner, "--if-exists", "new"},
                    {"sh", "-c", "echo \"{\\\"loss\\\": $0}\" >> $DETOL_REPORT", "{x}"}));
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  const Json rows = rows_of(folder, "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'");
  EXPECT_EQ(rows[0]["n"], 16);
}

}  // namespace
}  // namespace detol::testing_support
