// Searches over several hosts, which are network namespaces.

#include "tests/e2e/hosts.h"

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Proposals that depend on a trial's number alone, so that the order of events does not matter.
const Words kAnyOrder = {"--algorithm", "random", "--pruner", "none"};

class OverHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!hosts.why_not().empty()) GTEST_SKIP() << hosts.why_not();
  }

  static Words search_words(const Words& more = {}) {
    Words words = {"search", "--space", "tiny.yaml"};
    words.insert(words.end(), kAnyOrder.begin(), kAnyOrder.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string undisturbed(const Words& more = {"-j", "1"}) const {
    const TinyStudy other;
    const Ran ran = other.detol(search_words(more));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return other.results();
  }

  // A search on host 0 that starts no worker, and a worker on host 1.
  Program search() const {
    return hosts.start(0, study.path(), search_words({"-j", "0", "--listen", "network"}));
  }
  Program worker() const {
    return hosts.start(
        1, there.path(),
        {"worker", "--join", "tiny", "-j", "1", "--storage", (study.path() / "detol.db").string()});
  }

  void expect_the_same(Program& running) const {
    const Ran ran = running.wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(study.results(), undisturbed()) << ran.err;
  }

  Hosts hosts;
  TinyStudy study;
  TempFolder there;
};

void pause_s(double seconds) {
  ::poll(nullptr, 0, static_cast<int>(seconds * 1000));
}

TEST_F(OverHosts, AWorkerOfAnotherHostJoinsOverTheNetwork) {
  Program running = search();
  ASSERT_TRUE(running.says("waits for workers")) << running.wait().err;
  Program joined = worker();
  expect_the_same(running);
  EXPECT_EQ(joined.wait().code, 0);
}

TEST_F(OverHosts, NobodyJoinsASearchThatListensToItsOwnMachine) {
  Program running = hosts.start(0, study.path(), search_words({"-j", "0"}));
  ASSERT_TRUE(running.says("waits for workers")) << running.wait().err;
  const Ran refused = worker().wait();
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_NE(refused.err.find("--listen network"), std::string::npos) << refused.err;
}

TEST_F(OverHosts, AShortCutOfTheLinkChangesNothing) {
  Program running = search();
  ASSERT_TRUE(running.says("waits for workers")) << running.wait().err;
  Program joined = worker();
  ASSERT_TRUE(running.says("trial 1 epoch 1:")) << running.wait().err;
  hosts.cut(1);
  pause_s(3);
  hosts.mend(1);
  expect_the_same(running);
  EXPECT_EQ(joined.wait().code, 0);
}

TEST_F(OverHosts, AWorkerThatWasCutOffForLongComesBack) {
  Program running = search();
  ASSERT_TRUE(running.says("waits for workers")) << running.wait().err;
  Program joined = worker();
  ASSERT_TRUE(running.says("trial 1 epoch 1:")) << running.wait().err;
  hosts.cut(1);
  ASSERT_TRUE(running.says("it was silent for")) << running.wait().err;
  hosts.mend(1);
  expect_the_same(running);
  EXPECT_EQ(joined.wait().code, 0);
}

TEST_F(OverHosts, ASlowLinkThatLosesPacketsChangesNothing) {
  if (!hosts.slow(1)) GTEST_SKIP() << "this machine cannot make a link slow (tc netem or tbf)";
  Program running = search();
  ASSERT_TRUE(running.says("waits for workers")) << running.wait().err;
  Program joined = worker();
  expect_the_same(running);
  EXPECT_EQ(joined.wait().code, 0);
}

TEST_F(OverHosts, AHostThatIsKilledAndMendedTrainsAgain) {
  Program running = hosts.start(
      0, study.path(),
      search_words({"--launcher", "ssh", "--hosts", Hosts::address(0) + "," + Hosts::address(1),
                    "--ssh", hosts.enter(), "--set", "training.epochs=40"}));
  ASSERT_TRUE(running.says("trial 1 epoch 1:")) << running.wait().err;
  hosts.kill(1);
  ASSERT_TRUE(running.says("requeued: ")) << running.wait().err;
  hosts.revive(1);
  const Ran ran = running.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(study.results(), undisturbed({"-j", "1", "--set", "training.epochs=40"})) << ran.err;
}

TEST_F(OverHosts, AStopReachesEveryHostAndIsResumable) {
  const Words launcher = {"--launcher", "ssh",
                          "--hosts",    Hosts::address(0) + "," + Hosts::address(1) + ":2",
                          "--ssh",      hosts.enter()};
  Words words = launcher;
  words.insert(words.end(), {"--set", "training.epochs=40"});
  Program running = hosts.start(0, study.path(), search_words(words));
  ASSERT_TRUE(running.says("trial 2 epoch 1:")) << running.wait().err;
  EXPECT_TRUE(hosts.runs(1, "worker"));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().code, 75);
  EXPECT_FALSE(hosts.runs(1, "worker"));
  words = {"resume", "tiny"};
  words.insert(words.end(), launcher.begin(), launcher.end());
  const Ran resumed = hosts.start(0, study.path(), words).wait();
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(study.results(), undisturbed({"-j", "1", "--set", "training.epochs=40"}));
}

// One group of an MPI job, whose ranks are on two hosts.
TEST_F(OverHosts, AGroupOverTwoHostsTrainsTheSameNumbersAsOnOne) {
  using Clock = std::chrono::steady_clock;
  const Words group = {"--group-size", "2", "-j", "1"};
  const TinyStudy one;
  const auto start = Clock::now();
  ASSERT_EQ(one.detol(search_words(group)).code, 0);
  const auto middle = Clock::now();
  Words words = {"--allow-run-as-root",
                 "-n",
                 "3",
                 "--host",
                 Hosts::address(0) + ":2," + Hosts::address(1) + ":1",
                 "--mca",
                 "plm_rsh_agent",
                 hosts.enter(),
                 "--mca",
                 "btl",
                 "self,tcp",
                 "--mca",
                 "pml",
                 "ob1",
                 "--mca",
                 "btl_tcp_if_include",
                 "eth0",
                 "--mca",
                 "oob_tcp_if_include",
                 "eth0",
                 "--bind-to",
                 "none",
                 "--wdir",
                 study.path().string(),
                 tested_program()};
  const Words search = search_words({"--group-size", "2", "--launcher", "mpi"});
  words.insert(words.end(), search.begin(), search.end());
  Program running = hosts.start(0, study.path(), words, DETOL_MPIRUN);
  bool was_there = false;
  while (!running.ends_within(0.05)) was_there = was_there || hosts.runs(1, "search");
  EXPECT_TRUE(was_there) << "no rank was on the other host";
  const Ran ran = running.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(study.results(), one.results()) << ran.err;
  const std::chrono::duration<double> here = middle - start, over = Clock::now() - middle;
  std::cout << "one host " << here.count() << " s, two hosts " << over.count() << " s\n";
}

}  // namespace
}  // namespace detol::testing_support
