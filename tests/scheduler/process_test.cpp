#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/rng.h"
#include "tests/scheduler/process_support.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::outcomes_of;
using testing_support::search_of;
using testing_support::TempFolder;
using testing_support::WholeRun;

class Process : public testing::Test {
 protected:
  Process() {
    ::setenv("DETOL_TEST_EPOCH_MS", "30", 1);
    ::unsetenv("DETOL_TEST_CRASH");
    ::unsetenv("DETOL_TEST_FIT_MS");
  }
  // Expects that no process of the run is left.
  void expect_nobody_left() {
    EXPECT_TRUE(WholeRun::wait_until([&] { return run.everybody().empty(); }));
  }
  std::string log() { return read_file(folder.path() / "log").value_or(""); }
  int count(const std::string& state) {
    int found = 0;
    for (const Event& event : run.events()) {
      const auto* told = std::get_if<event::Told>(&event);
      found += told != nullptr && to_text(told->state) == state;
    }
    return found;
  }

  TempFolder folder;
  WholeRun run{folder.path()};
};

TEST_F(Process, ASearchRunsToItsEndAndLeavesNothingBehind) {
  run.start();
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("COMPLETE"), 8);
  expect_nobody_left();
  EXPECT_TRUE(run.socket().empty()) << "the run's folder is still there";
}

TEST_F(Process, AStudyThatExistsIsNotTouchedUnlessAskedFor) {
  run.start();
  ASSERT_EQ(run.finish(), 0) << log();
  run.start();
  EXPECT_EQ(run.finish(), 4);
  run.options.if_exists = IfExists::kNew;
  run.start();
  EXPECT_EQ(run.finish(), 0);
  run.options.config.study = "formula-2";
  EXPECT_GE(count("COMPLETE"), 8);  // and what it took over from the first
}

TEST_F(Process, AnUnknownAlgorithmIsRefusedBeforeAnythingExists) {
  run.options.config.text.replace(run.options.config.text.find("evolution"), 9, "evolutoin");
  run.start();
  EXPECT_NE(run.finish(), 0);
  EXPECT_FALSE(std::filesystem::exists(run.options.storage));
}

TEST_F(Process, AKilledWorkerIsReplacedAndItsTrialGoesOn) {
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 3; })) << log();
  const std::vector<pid_t> workers = run.workers();
  ASSERT_FALSE(workers.empty());
  ::kill(workers.front(), SIGKILL);
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("COMPLETE"), 8);
  EXPECT_EQ(run.reports(), 40);
}

TEST_F(Process, AKilledMasterIsReplacedWhileItsWorkersTrainOn) {
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 3; })) << log();
  const std::vector<pid_t> workers = run.workers();
  ::kill(run.masters().front(), SIGKILL);
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 20; })) << log();
  EXPECT_EQ(run.workers(), workers);
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("COMPLETE"), 8);
  EXPECT_EQ(run.reports(), 40);
  for (const Event& event : run.events())
    EXPECT_FALSE(std::holds_alternative<event::Requeued>(event));
}

// Kills the master between the end of a fit and its record, and right after the record.
TEST_F(Process, AMasterThatIsKilledAroundAFitEndsWithTheSameSearch) {
  ::setenv("DETOL_TEST_EPOCH_MS", "1", 1);
  ::setenv("DETOL_TEST_FIT_MS", "1", 1);
  std::string undisturbed;
  for (const char* fault : {"", "master.refit:1:kill", "ledger.committed:12:kill"}) {
    TempFolder own;
    WholeRun search(own.path());
    search.options.workers = 1;
    search.options.budget = parse_budget_change("12trials").value();
    ::setenv("DETOL_FAULT", fault, 1);
    ::setenv("DETOL_FAULT_MARK", (own.path() / "mark").c_str(), 1);
    search.start();
    EXPECT_EQ(search.finish(), 0) << fault;
    ::unsetenv("DETOL_FAULT");
    const std::string history = search_of(search.events());
    EXPECT_NE(history.find("refit 2 "), std::string::npos) << history;
    if (undisturbed.empty()) undisturbed = history;
    EXPECT_EQ(history, undisturbed) << fault;
    EXPECT_EQ(std::filesystem::exists(own.path() / "mark"), *fault != '\0');
  }
  ::unsetenv("DETOL_FAULT_MARK");
}

TEST_F(Process, AStopDuringALongFitIsRecordedAndDoesNotWaitForIt) {
  ::setenv("DETOL_TEST_EPOCH_MS", "1", 1);
  ::setenv("DETOL_TEST_FIT_MS", "600000", 1);
  run.options.workers = 1;
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return count("COMPLETE") >= 5; }));
  ::kill(run.supervisor(), SIGTERM);
  EXPECT_EQ(run.finish(), 75);
  std::optional<StudyPhase> state;
  for (const Event& event : run.events()) {
    if (const auto* changed = std::get_if<event::StudyState>(&event)) state = changed->state;
  }
  EXPECT_EQ(state, StudyPhase::kStopped);
}

TEST_F(Process, AMasterThatDiesAgainAndAgainEndsTheRunWithADiagnosis) {
  ::setenv("DETOL_TEST_EPOCH_MS", "60000", 1);  // no report: no progress
  run.start();
  for (int death = 0; death < 4; ++death) {
    ASSERT_TRUE(WholeRun::wait_until([&] { return run.masters().size() == 1; })) << log();
    const pid_t master = run.masters().front();
    ::kill(master, SIGKILL);
    ASSERT_TRUE(WholeRun::wait_until([&] { return run.masters() != std::vector{master}; }));
  }
  EXPECT_EQ(run.finish(), 8);
  EXPECT_NE(log().find("without progress"), std::string::npos);
  expect_nobody_left();
}

TEST_F(Process, AKilledSupervisorTakesEverybodyAlongAndTheStudyResumes) {
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 3; })) << log();
  ::kill(run.supervisor(), SIGKILL);
  expect_nobody_left();
  EXPECT_EQ(run.finish(), 1000 + SIGKILL);
  run.options.resume = true;
  run.options.budget.reset();
  run.start();
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("COMPLETE"), 8);
  EXPECT_EQ(run.reports(), 40);
}

TEST_F(Process, AStopSignalEndsResumablyAndNothingIsRecordedTwice) {
  for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    TempFolder own;
    WholeRun stopped(own.path());
    stopped.start();
    ASSERT_TRUE(WholeRun::wait_until([&] { return stopped.reports() >= 3; }));
    ::kill(stopped.supervisor(), signal);
    EXPECT_EQ(stopped.finish(), 75);
    EXPECT_TRUE(stopped.everybody().empty());
    stopped.options.resume = true;
    stopped.options.budget.reset();
    stopped.start();
    EXPECT_EQ(stopped.finish(), 0);
    EXPECT_EQ(stopped.reports(), 40);
  }
}

TEST_F(Process, AHangupIsNoStopWhereItIsIgnored) {
  run.ignores_hangups = true;
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 3; })) << log();
  ::kill(run.supervisor(), SIGHUP);
  EXPECT_EQ(run.finish(), 0) << log();
}

TEST_F(Process, ASecondSignalEndsAtOnce) {
  ::setenv("DETOL_TEST_EPOCH_MS", "60000", 1);
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.workers().size() == 2; }));
  ASSERT_TRUE(WholeRun::wait_until([&] { return !run.events().empty(); }));
  ::kill(run.supervisor(), SIGINT);
  ::kill(run.supervisor(), SIGTERM);  // another kind: two pending SIGINTs would be one
  EXPECT_EQ(run.finish(), 130);
  expect_nobody_left();
}

TEST_F(Process, ACandidateThatCrashesItsWorkerEveryTimeFailsAlone) {
  ::setenv("DETOL_TEST_CRASH", "2", 1);
  run.start();
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("FAIL"), 1);
  EXPECT_EQ(count("COMPLETE"), 7);
}

TEST_F(Process, GarbageOnTheMastersPortIsIgnored) {
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 1; })) << log();
  Rng rng(1);
  for (int peer = 0; peer < 20; ++peer) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, run.socket().c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    std::string bytes(1000, '\0');
    for (char& c : bytes) c = static_cast<char>(rng.next());
    [[maybe_unused]] const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
  EXPECT_EQ(run.finish(), 0) << log();
  EXPECT_EQ(count("COMPLETE"), 8);
}

TEST_F(Process, ASecondMasterOfTheSameStudyIsRefused) {
  ::setenv("DETOL_TEST_EPOCH_MS", "200", 1);
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 1; })) << log();
  WholeRun second(folder.path());
  second.options.if_exists = IfExists::kResume;
  second.start();
  EXPECT_EQ(second.finish(), 5);
  EXPECT_EQ(run.finish(), 0);
}

TEST_F(Process, TwoStudiesOfOneStorageRunAtTheSameTime) {
  ::setenv("DETOL_TEST_EPOCH_MS", "50", 1);
  run.start();
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 1; })) << log();
  WholeRun second(folder.path());
  second.options.if_exists = IfExists::kNew;
  second.start();
  EXPECT_EQ(second.finish(), 0) << log();
  EXPECT_EQ(run.finish(), 0) << log();
}

// With one worker, a run that is killed at any moment and resumed equals a run without a kill.
TEST_F(Process, WithOneWorkerAKilledAndResumedRunIsTheSameRun) {
  ::setenv("DETOL_TEST_EPOCH_MS", "5", 1);
  run.options.workers = 1;
  run.start();
  ASSERT_EQ(run.finish(), 0) << log();
  for (int kills_after : {0, 2, 7, 19, 33}) {
    TempFolder own;
    WholeRun killed(own.path());
    killed.options.workers = 1;
    killed.options.if_exists = IfExists::kResume;
    killed.start();
    ASSERT_TRUE(WholeRun::wait_until([&] { return killed.reports() >= kills_after; }));
    ::kill(killed.supervisor(), SIGKILL);
    killed.finish();
    killed.start();
    ASSERT_EQ(killed.finish(), 0);
    EXPECT_EQ(outcomes_of(killed.events()), outcomes_of(run.events()));
  }
}

}  // namespace
}  // namespace detol
