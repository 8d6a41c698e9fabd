// A study that was killed or interrupted ends as if nothing had happened.

#include <signal.h>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

// The moments at which a run is disturbed, by the progress lines that tell them.
constexpr const char* kMoments[] = {"trial 0 starts",
                                    "trial 0 epoch 1:", "trial 1 epoch 1:", "trial 3 starts"};

std::string undisturbed() {
  const TinyStudy study;
  const Ran ran = study.detol(study.search_words());
  EXPECT_EQ(ran.code, 0) << ran.err;
  return study.results();
}

TEST(Killed, EverythingIsResumedToTheSameResults) {
  const std::string expected = undisturbed();
  for (const char* moment : kMoments) {
    const TinyStudy study;
    Program search(study.path(), study.search_words());
    ASSERT_TRUE(search.says(moment)) << search.wait().err;
    search.kill_everything();
    const Ran resumed = study.detol({"resume", "tiny"});
    EXPECT_EQ(resumed.code, 0) << moment << "\n" << resumed.err;
    EXPECT_EQ(study.results(), expected) << moment;
  }
}

class KilledRole : public testing::TestWithParam<const char*> {};

TEST_P(KilledRole, IsReplacedAndTheResultsAreTheSame) {
  const std::string expected = undisturbed();
  for (const char* moment : kMoments) {
    const TinyStudy study;
    Program search(study.path(), study.search_words());
    ASSERT_TRUE(search.says(moment)) << search.wait().err;
    for (const pid_t pid : search.children(GetParam())) ::kill(pid, SIGKILL);
    const Ran ran = search.wait();
    EXPECT_EQ(ran.code, 0) << moment << "\n" << ran.err;
    EXPECT_EQ(study.results(), expected) << moment << "\n" << ran.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Roles, KilledRole, testing::Values("__master", "__worker"),
                         [](const auto& role) { return std::string(role.param + 2); });

// A stopped master continues after a network file system gave its lock to another. Its worker
// hangs, so that it is not stopped in mid-transaction.
TEST(Stale, AMasterThatComesBackAfterAnotherTookItsLockCannotCommit) {
  const std::string expected = undisturbed();
  const TinyStudy study;
  Program stale(study.path(), study.search_words(), {"DETOL_FAULT=worker.order:3:hang"});
  ASSERT_TRUE(stale.says("trial 2 starts")) << stale.wait().err;
  std::vector<pid_t> all = stale.children("detol");
  for (const pid_t pid : all) ::kill(pid, SIGSTOP);
  EXPECT_EQ(study.detol({"resume", "tiny"}).code, 5);  // a local lock is not lost by a stop
  write_bytes(study.path() / "detol.db.lock",
              std::string(1024, ' ') + R"({"host": "b", "pid": 1, "token": "another's"})");
  for (const pid_t pid : all) ::kill(pid, SIGCONT);
  EXPECT_EQ(stale.wait().code, 5);
  const Ran resumed = study.detol({"resume", "tiny"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(study.results(), expected);
  EXPECT_EQ(study.detol({"db", "check"}).code, 0);
}

class Stopped : public testing::TestWithParam<int> {};

TEST_P(Stopped, ExitsResumableAndEndsTheSame) {
  const std::string expected = undisturbed();
  const TinyStudy study;
  Program search(study.path(), study.search_words());
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  const std::vector<pid_t> below = search.children("detol");
  search.signal(GetParam());
  const Ran stopped = search.wait();
  ASSERT_EQ(stopped.code, 75) << stopped.err;
  EXPECT_NE(stopped.err.find("detol resume tiny"), std::string::npos) << stopped.err;
  for (const pid_t pid : below) EXPECT_NE(::kill(pid, 0), 0) << "a process was left";
  const Ran resumed = study.detol({"resume", "tiny"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(study.results(), expected);
}

INSTANTIATE_TEST_SUITE_P(Signals, Stopped, testing::Values(SIGINT, SIGTERM, SIGUSR1),
                         [](const auto& number) {
                           return std::string(sigabbrev_np(number.param));
                         });

}  // namespace
}  // namespace detol::testing_support
