// One test for each row of the README's table of faults that no other test covers: what the user
// sees, and that the study ends with the results of an undisturbed one.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "knowledge/check.h"
#include "knowledge/query.h"
#include "tests/chaos/chaos.h"
#include "tests/chaos/small_disk.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr int kImages = 600;  // an epoch shall last longer than a test needs to disturb it

Search search_of(int images) {
  Search search = one_worker();
  search.images = images;
  return search;
}

Ran go_on(const ChaosStudy& study) {
  return Program(study.path(), {"resume", "tiny"}, study.variables()).wait();
}

// Returns the results of the undisturbed search.
const Baseline& baseline() {
  static const Baseline kBaseline = run_undisturbed(search_of(kImages));
  return kBaseline;
}

// A search with kImages that a test disturbs.
class Faults : public testing::Test {
 protected:
  void start(const Lines& more = {}) {
    Lines variables = study.variables();
    variables.insert(variables.begin(), more.begin(), more.end());
    program.emplace(study.path(), search.words, variables);
  }
  void wait_for(const std::string& text) {
    ASSERT_TRUE(program->says(text)) << program->wait().err;
  }
  pid_t only(const char* role) {
    const auto pids = program->children(role);
    EXPECT_EQ(pids.size(), 1u) << role;
    return pids.empty() ? 0 : pids.front();
  }
  // Expects that nothing is lost, doubled or left, and that at most `redone` steps were made again.
  void expect_as_undisturbed(const std::string& output, int redone) {
    EXPECT_EQ(broken_promises(study, baseline(), output, redone), Lines{}) << output;
  }
  void expect_as_undisturbed(const std::string& output) {
    expect_as_undisturbed(output, search.steps_to_redo());
  }

  Search search = search_of(kImages);
  const ChaosStudy study{kImages};
  std::optional<Program> program;
};

TEST_F(Faults, Row1_AKilledWorkerIsReplacedAndNobodyElseNotices) {
  start();
  wait_for("trial 1 starts");
  const pid_t master = only("__master");
  ::kill(only("__worker"), SIGKILL);
  wait_for("trial 1 resumed");
  EXPECT_EQ(only("__master"), master);
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_as_undisturbed(ran.err);
}

TEST_F(Faults, Row2_AMasterThatIsKilledCostsNoTrainingAtAll) {
  start();
  wait_for("trial 1 starts");
  const pid_t worker = only("__worker");
  ::kill(only("__master"), SIGKILL);
  wait_for("trial 1 epoch 3:");
  EXPECT_EQ(only("__worker"), worker);
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_as_undisturbed(ran.err, 0);
}

TEST_F(Faults, Row2_ASupervisorThatDiesWhileItReplacesAMasterIsResumed) {
  start({"DETOL_FAULT=supervisor.master:2:kill"});
  wait_for("trial 1 starts");
  ::kill(only("__master"), SIGKILL);
  const Ran killed = program->wait();
  EXPECT_EQ(killed.code, 128 + SIGKILL);
  const Ran resumed = go_on(study);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_as_undisturbed(killed.err + resumed.err);
}

TEST_F(Faults, Row3_ASupervisorThatIsKilledLeavesNoProcessAndTheStudyIsResumed) {
  start();
  wait_for("trial 1 epoch 1:");
  program->signal(SIGKILL);
  const std::string output = program->wait().err;
  for (int i = 0; i < 100 && !processes_in(study.path()).empty(); ++i) ::usleep(20'000);
  EXPECT_TRUE(processes_in(study.path()).empty()) << "two seconds after its end";
  const Ran resumed = go_on(study);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_as_undisturbed(output + resumed.err);
}

TEST_F(Faults, Row5_ALossThatIsNotANumberFailsItsTrialAndTheWorkerLivesOn) {
  start({"DETOL_FAULT=train.step:3:nan"});
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("trial 0 FAIL diverged"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("trial 2 COMPLETE"), std::string::npos) << ran.err;
  EXPECT_EQ(study.visits("worker.ready").size(), 1u) << "there was a second worker";
}

TEST_F(Faults, Row7_ACandidateThatIsTooLargeIsRefusedWithTheNumbersBeforeItTrains) {
  std::string space = kTinySpace;
  space.replace(space.find("[4, 8]"), 6, "[16384]");
  space.replace(space.find("repeat: 2"), 9, "repeat: 40");  // each doubles the channels
  write_bytes(study.path() / "tiny.yaml", space);
  start();
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 8) << ran.err;  // nothing could be trained
  const auto reader = Reader::open(study.database()).value();
  const Rows refused = reader
                           ->select(
                               "SELECT reason FROM v_trials WHERE started IS NULL AND "
                               "failure IN ('too_large', 'invalid') AND reason GLOB '*[0-9]*'")
                           .value();
  EXPECT_EQ(refused.rows.size(), 1000u);
}

class Row8 : public Faults, public testing::WithParamInterface<const char*> {};

TEST_P(Row8, AStoppedProcessIsEndedAndReplaced) {
  start();
  wait_for("trial 1 starts");
  const pid_t stopped = only(GetParam());
  ::kill(stopped, SIGSTOP);
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(::kill(stopped, 0), 0) << "it is still there";
  expect_as_undisturbed(ran.err);
}

INSTANTIATE_TEST_SUITE_P(Faults, Row8, testing::Values("__master", "__worker"),
                         [](const auto& role) { return std::string(role.param + 2); });

class Row9 : public Faults, public testing::WithParamInterface<const char*> {
 protected:
  static void damage(const fs::path& file, const std::string& how) {
    std::string bytes = text_of(file);
    if (how == "empty") bytes.clear();
    if (how == "truncated") bytes.resize(bytes.size() / 2);
    if (how == "flipped") bytes[bytes.size() / 2] ^= 1;
    write_bytes(file, bytes);
  }
};

// The pruner, which stops none of these few trials, decides after each epoch, so that each has a
// checkpoint of its own.
TEST_P(Row9, ABadCheckpointIsPutAsideAndTheOneBeforeIsUsed) {
  *std::ranges::find(search.words, "none") = "median";
  start();
  wait_for("trial 1 epoch 2:");
  program->kill_everything();
  const std::string output = program->wait().err;
  fs::path newest;
  for (const auto& file : fs::directory_iterator(study.folder_of(1))) {
    if (file.path().filename() > newest.filename()) newest = file.path();
  }
  damage(newest, GetParam());
  const Ran resumed = go_on(study);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("unusable checkpoint"), std::string::npos) << resumed.err;
  EXPECT_TRUE(fs::exists(newest.string() + ".bad"));
  expect_as_undisturbed(output + resumed.err, 2 * search.steps_to_redo());  // a kill, a bad file
}

INSTANTIATE_TEST_SUITE_P(Faults, Row9, testing::Values("empty", "truncated", "flipped"),
                         [](const auto& how) { return std::string(how.param); });

class Row15 : public Faults, public testing::WithParamInterface<int> {};

TEST_P(Row15, AStopSignalCheckpointsCommitsAndLosesNotOneStep) {
  start();
  wait_for("trial 1 epoch 1:");
  program->signal(GetParam());
  const Ran stopped = program->wait();
  EXPECT_EQ(stopped.code, 75) << stopped.err;
  EXPECT_NE(stopped.err.find("detol resume tiny"), std::string::npos) << stopped.err;
  const Ran resumed = go_on(study);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_as_undisturbed(stopped.err + resumed.err, 0);
}

INSTANTIATE_TEST_SUITE_P(Faults, Row15, testing::Values(SIGTERM, SIGINT, SIGUSR1),
                         [](const auto& signal) {
                           return std::string(sigabbrev_np(signal.param));
                         });

TEST_F(Faults, Row16_ASecondMasterIsToldWhoRunsTheStudy) {
  start();
  wait_for("trial 1 starts");
  const Ran second = Program(study.path(), {"resume", "tiny"}, study.variables()).wait();
  EXPECT_EQ(second.code, 5);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (const std::string& word : {"process " + std::to_string(only("__master")),
                                  "host " + std::string(host), std::string("since 2")})
    EXPECT_NE(second.err.find(word), std::string::npos) << word << ": " << second.err;
  const Ran first = program->wait();
  EXPECT_EQ(first.code, 0) << first.err;
  expect_as_undisturbed(first.err, 0);
}

// A network file system gave its lock to a master on another machine.
TEST_F(Faults, Row16_AStaleMasterCannotCommit) {
  start({"DETOL_TEST_PATIENCE=1"});  // so that its supervisor does not notice the stop
  wait_for("trial 1 starts");
  const pid_t stale = only("__master");
  ::kill(stale, SIGSTOP);
  std::ofstream(study.database().string() + ".lock")
      << std::string(1024, ' ') << R"({"host": "b", "pid": 1, "token": "another's"})";
  ::kill(stale, SIGCONT);
  const Ran first = program->wait();
  EXPECT_EQ(first.code, 5) << first.err;
  EXPECT_NE(first.err.find("another master took this database over"), std::string::npos)
      << first.err;
  const Ran taken_over = go_on(study);
  EXPECT_EQ(taken_over.code, 0) << taken_over.err;
  expect_as_undisturbed(taken_over.err, 2 * search.steps_to_redo());  // of two masters
}

TEST_F(Faults, Row19_CandidatesThatAllCrashTheirWorkersEndTheStudyWithAReason) {
  search = one_worker(100);
  start({"DETOL_FAULT=worker.order:1:exit"});  // of every worker
  const Ran ran = program->wait();
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_NE(ran.err.find("the first 10 trials all failed"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("FAIL crashed"), std::string::npos) << ran.err;
}

class Export : public Faults, public testing::WithParamInterface<const char*> {
 protected:
  Ran export_with(const Lines& more) const {
    Lines variables = study.variables();
    variables.insert(variables.begin(), more.begin(), more.end());
    return Program(study.path(), {"export", "tiny", "--to", "all", "-o", "models"}, variables)
        .wait();
  }
  Lines models() const {
    const fs::path folder = study.path() / "models";
    return fs::exists(folder) ? listing(folder) : Lines{};
  }
};

// Files that a kill leaves among a user's files stay there: nothing proves that they are ours.
Lines halves_among(Lines names) {
  std::erase_if(
      names, [](const fs::path& name) { return !name.extension().string().starts_with(".tmp-"); });
  return names;
}

TEST_P(Export, ThatIsBrokenOffLeavesWholeFilesOrNone) {
  start();
  ASSERT_EQ(program->wait().code, 0);
  ASSERT_EQ(export_with({}).code, 0);
  const Lines whole = models();
  ASSERT_FALSE(whole.empty());
  for (std::size_t nth = 1; nth <= whole.size(); ++nth) {
    fs::remove_all(study.path() / "models");
    const std::string fault = "file.write:" + std::to_string(nth) + ":" + GetParam();
    EXPECT_NE(export_with({"DETOL_FAULT=" + fault}).code, 0) << fault;
    Lines halves = halves_among(models());
    EXPECT_TRUE(halves.empty() || std::string(GetParam()) == "kill") << fault;
    for (const std::string& name : halves) fs::remove(study.path() / "models" / name);
    const Ran again = export_with({});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(models(), whole) << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, Export, testing::Values("kill", "enospc", "eio"),
                         [](const auto& action) { return std::string(action.param); });

TEST_F(Faults, ABackupThatIsKilledIsNotThereAndTheNextOneIs) {
  start();
  ASSERT_EQ(program->wait().code, 0);
  const auto backup = [&](const Lines& more) {
    Lines variables = study.variables();
    variables.insert(variables.begin(), more.begin(), more.end());
    return Program(study.path(), {"db", "backup", "copy.db"}, variables).wait();
  };
  const Ran killed = backup({"DETOL_FAULT=backup.write:1:kill"});
  EXPECT_EQ(killed.code, 128 + SIGKILL) << killed.err;
  EXPECT_FALSE(fs::exists(study.path() / "copy.db"));
  const Ran again = backup({});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(check(study.path() / "copy.db").value(), Lines{});
}

// The database and the checkpoints are on a disk that fills up, or becomes read-only.
class Row4 : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk.is_there()) GTEST_SKIP() << "a small disk is mounted by root only";
  }
  // Expects the results of the undisturbed search.
  void expect_as_undisturbed(const Ran& ran) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(broken_promises(study, baseline(), ran.err, search.steps_to_redo()), Lines{})
        << ran.err;
  }

  const Search search = search_of(kImages);
  const ChaosStudy study{kImages, "disk"};
  const SmallDisk disk{study.path() / "disk"};
};

TEST_F(Row4, AFullDiskPausesTheSearchUntilThereIsSpace) {
  (void)baseline();
  Program program(study.path(), search.words, study.variables());
  ASSERT_TRUE(program.says("trial 1 epoch 1:")) << program.wait().err;
  disk.fill();
  ASSERT_TRUE(program.says("waits until ")) << program.wait().err;
  EXPECT_FALSE(program.ends_within(3)) << program.wait().err;  // however often it tries
  disk.make_room();
  expect_as_undisturbed(program.wait());
}

TEST_F(Row4, AProgramWhoseReportsFoundNoRoomRunsAgain) {
  write_bytes(study.path() / "report.sh",
              "touch started; until [ -e go ]; do sleep 0.02; done\n"
              "echo '{\"step\": 1, \"loss\": 1}' >> $DETOL_REPORT; exit 0\n");
  Program tuning(study.path(),
                 {"tune", "--study", "tiny", "--metric", "loss:minimize", "--param", "x=int(1,9)",
                  "--budget", "1trials", "-j", "1", "--", "sh", "report.sh"},
                 study.variables());
  while (!fs::exists(study.path() / "started")) ASSERT_FALSE(tuning.ends_within(0.02));
  disk.fill();
  write_bytes(study.path() / "go", "");
  ASSERT_TRUE(tuning.says("waits until ")) << tuning.wait().err;
  EXPECT_FALSE(tuning.ends_within(1)) << tuning.wait().err;
  disk.make_room();
  const Ran ran = tuning.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("there was no room in"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("trial 0 COMPLETE"), std::string::npos) << ran.err;
}

TEST_F(Row4, ADiskThatIsFullFromTheStartIsSaidAndNothingIsHalfMade) {
  disk.fill();
  const Ran refused = Program(study.path(), search.words, study.variables()).wait();
  EXPECT_EQ(refused.code, 5) << refused.err;
  EXPECT_NE(refused.err.find("detol.db"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("No space left on device; make room"), std::string::npos)
      << refused.err;
  EXPECT_EQ(listing(study.path() / "disk"), Lines{"filler"});
  disk.make_room();
  expect_as_undisturbed(Program(study.path(), search.words, study.variables()).wait());
}

TEST_F(Row4, AReadOnlyDiskIsSaidAndTheStudyGoesOnWhenItIsWritable) {
  Program first(study.path(), search.words, study.variables());
  ASSERT_TRUE(first.says("trial 1 epoch 1:")) << first.wait().err;
  first.kill_everything();
  ASSERT_TRUE(disk.make_read_only());
  const Ran refused = go_on(study);
  EXPECT_EQ(refused.code, 5) << refused.err;
  EXPECT_NE(refused.err.find("Read-only file system; pass a --storage"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("detol.db"), std::string::npos) << refused.err;
  ASSERT_TRUE(disk.make_writable());
  const Ran resumed = go_on(study);
  expect_as_undisturbed({resumed.code, "", first.wait().err + resumed.err});
}

}  // namespace
}  // namespace detol::testing_support
