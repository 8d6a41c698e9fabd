// Workers that join a running search from outside, and leave it.

#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

std::string undisturbed() {
  const TinyStudy study;
  const Ran ran = study.detol(study.search_words());
  EXPECT_EQ(ran.code, 0) << ran.err;
  return study.results();
}

// A search that starts no worker of its own.
class Joined : public testing::Test {
 protected:
  // A worker of the study, in a folder of its own because a Program writes beside its folder.
  Program worker(const TempFolder& place, const Words& more = {}) const {
    Words words = {
        "worker", "--join", "tiny", "-j", "1", "--storage", (study.path() / "detol.db").string()};
    words.insert(words.end(), more.begin(), more.end());
    return Program(place.path(), words);
  }
  static Words search_words() { return {"search", "--space", "tiny.yaml", "--workers", "0"}; }

  TinyStudy study;
  TempFolder here, there;
};

TEST_F(Joined, AWorkerTrainsTheSameNumbersAndEndsWithTheSearch) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran ended = joined.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(study.results(), undisturbed());
}

TEST_F(Joined, WhoLeavesHandsItsTrialToTheNextAtItsCheckpoint) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program first = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 75);
  Program second = worker(there);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(second.wait().code, 0);
  EXPECT_EQ(study.results(), undisturbed());
  EXPECT_EQ(ran.err.find("crashed"), std::string::npos) << ran.err;
}

TEST_F(Joined, AKilledWorkerProcessIsReplacedWhereItJoined) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  for (const pid_t pid : joined.children("__join")) ::kill(pid, SIGKILL);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(joined.wait().code, 0);
  EXPECT_EQ(study.results(), undisturbed());
}

TEST_F(Joined, WorkersOutliveAMasterThatIsKilled) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  const std::vector<pid_t> before = joined.children("__join");
  for (const pid_t pid : search.children("__master")) ::kill(pid, SIGKILL);
  ASSERT_TRUE(search.says("trial 3 starts")) << search.wait().err;
  EXPECT_EQ(joined.children("__join"), before);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(joined.wait().code, 0);
  EXPECT_EQ(study.results(), undisturbed());
}

TEST_F(Joined, WhoWasKilledWithItsParentIsMissedAndAnotherGoesOn) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program first = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  first.kill_everything();
  Program second = worker(there);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("it was silent for"), std::string::npos) << ran.err;
  EXPECT_EQ(study.results(), undisturbed());
}

TEST_F(Joined, AStopOfTheSearchEndsItsWorkers) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  search.signal(SIGTERM);
  EXPECT_EQ(search.wait().code, 75);
  EXPECT_EQ(joined.wait().code, 0);
  EXPECT_EQ(study.detol({"resume", "tiny", "-j", "1"}).code, 0);
  EXPECT_EQ(study.results(), undisturbed());
}

TEST_F(Joined, TheStatusNamesThemAndTheBudgetCountsTheirTime) {
  Words words = search_words();
  words.insert(words.end(), {"--budget", "6cpu-s", "--set", "training.epochs=200", "--set",
                             "search.pruner=none"});
  Program search(study.path(), words);
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  ASSERT_TRUE(search.says("trial 0 epoch 1:")) << search.wait().err;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const Json running = Json::parse(study.detol({"status", "-f", "json"}).out);
  EXPECT_EQ(running["workers"].get<std::string>().find(std::string(host) + "/"), 0U) << running;
  EXPECT_EQ(search.wait().code, 0);
  const Json status = Json::parse(study.detol({"status", "-f", "json"}).out);
  EXPECT_GT(status["device_seconds"], 4) << status;
  EXPECT_LT(status["device_seconds"], 9) << status;
}

TEST_F(Joined, OnlyARunThatExistsCanBeJoined) {
  const auto refusal = [&](const Words& words) {
    const Ran ran = study.detol(words);
    EXPECT_EQ(ran.code, 4) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err;
  };
  EXPECT_NE(refusal({"worker", "--join", "tiny"}).find("there is no study 'tiny'"),
            std::string::npos);
  ASSERT_EQ(study.detol(study.search_words()).code, 0);
  EXPECT_NE(refusal({"worker", "--join", "tiny"}).find("`detol resume tiny`"), std::string::npos);
}

TEST_F(Joined, AGroupOfAnotherSizeIsRefused) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  const Ran ran = worker(here, {"--group-size", "2"}).wait();
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("trains in groups of 1"), std::string::npos) << ran.err;
}

TEST_F(Joined, AGroupOfAnotherSizeIsTakenWhereTrainingIsNotDeterministic) {
  Words words = search_words();
  words.insert(words.end(), {"--set", "training.deterministic=false"});
  Program search(study.path(), words);
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here, {"--group-size", "2"});
  EXPECT_EQ(search.wait().code, 0);
  EXPECT_EQ(joined.wait().code, 0);
  EXPECT_EQ(Json::parse(study.detol({"status", "-f", "json"}).out)["group_sizes"], "2");
}

TEST_F(Joined, ACopyOfAStudyCannotBeJoined) {
  ASSERT_EQ(study.detol(study.search_words()).code, 0);
  write_bytes(study.path() / "detol.db.d" / "tiny" / "workers.json", "{}");
  ASSERT_EQ(study.detol({"study", "copy", "tiny", "twin"}).code, 0);
  EXPECT_FALSE(fs::exists(study.path() / "detol.db.d" / "twin" / "workers.json"));
}

TEST_F(Joined, AWorkerWhoseSearchWasKilledEndsWhenThatIsResumed) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program joined = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  search.kill_everything();
  const Ran ran = study.detol({"resume", "tiny", "-j", "1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(study.results(), undisturbed());
  EXPECT_TRUE(joined.ends_within(20));
  EXPECT_EQ(joined.wait().code, 0);
}

TEST_F(Joined, AWorkerTrainsOnWhatTheSearchTrainsOn) {
  Program search(study.path(), search_words());
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  const Ran ran = worker(here, {"--device", "cuda"}).wait();
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("the search trains on cpu"), std::string::npos) << ran.err;
}

// Workers of two ranks.
class JoinedGroup : public Joined {
 protected:
  static Words with_group(Words words) {
    words.insert(words.end(), {"--group-size", "2"});
    return words;
  }
  std::string undisturbed_group() const {
    const TinyStudy other;
    const Ran ran = other.detol(with_group(other.search_words()));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return other.results();
  }
};

TEST_F(JoinedGroup, IsStartedHereAndLeavesAsOne) {
  Program search(study.path(), with_group(search_words()));
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program first = worker(here);
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  first.signal(SIGTERM);
  const Ran left = first.wait();
  EXPECT_EQ(left.code, 75) << left.err;
  Program second = worker(there);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err.find("silent"), std::string::npos) << ran.err;
  EXPECT_EQ(second.wait().code, 0);
  EXPECT_EQ(study.results(), undisturbed_group());
}

TEST_F(JoinedGroup, MayBeAnMpiJob) {
  Program search(study.path(), with_group(search_words()));
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  const std::string detol = tested_program();
  const Environment other("DETOL_PROGRAM", DETOL_MPIRUN);
  Program job(here.path(),
              {"-n", "2", detol, "worker", "--join", "tiny", "--group-size", "2", "--storage",
               (study.path() / "detol.db").string()},
              {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
               "OMPI_MCA_rmaps_base_oversubscribe=1"});
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran ended = job.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  ::unsetenv("DETOL_PROGRAM");
  EXPECT_EQ(study.results(), undisturbed_group());
}

// 64 groups on however few cores: each sleeps, so that what is measured is joining and leaving.
TEST(ManyWorkers, JoinWorkAndLeave) {
  const TempFolder folder, first_place, second_place, third_place;
  write_bytes(folder.path() / "naps.yaml",
              "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 1}\n"
              "search: {algorithm: random}\nbudget: 640trials\n");
  const auto worker = [&](const TempFolder& place, const char* count) {
    return Program(place.path(), {"worker", "--join", "naps", "-j", count, "--storage",
                                  (folder.path() / "detol.db").string()});
  };
  Program search(folder.path(), {"search", "--space", "naps.yaml", "-j", "0"});
  ASSERT_TRUE(search.says("waits for workers")) << search.wait().err;
  Program first = worker(first_place, "40"), second = worker(second_place, "24");
  ASSERT_TRUE(search.says("trial 100 ")) << search.wait().err;
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait().code, 75);
  Program third = worker(third_place, "24");
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(first.wait().code, 0);
  EXPECT_EQ(third.wait().code, 0);
  const auto count = [&](const std::string& what) {
    return run(folder.path(), {"query", "-f", "csv", "SELECT " + what + " AS n FROM v_trials"}).out;
  };
  EXPECT_EQ(count("count(*)"), "n\n640\n");
  EXPECT_EQ(count("count(*) FILTER (WHERE state = 'COMPLETE' AND epochs = 1)"), "n\n640\n");
  const Json workers = Json::parse(
      run(folder.path(), {"query", "-f", "json", "SELECT count(*) AS n FROM v_workers"}).out);
  EXPECT_EQ(workers[0]["n"], 88) << "64 at a time, and 24 that came for those that left";
}

// What `detol slurm` can say without a Slurm.
TEST(SlurmCommand, ChecksAsASearchDoesBeforeItSubmits) {
  const TinyStudy study;
  const auto before = listing(study.path());
  const auto code = [&](const Words& more) {
    Words words = {"slurm", "--space", "tiny.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return study.detol(words).code;
  };
  EXPECT_EQ(code({"--budget", "ten"}), 2);
  EXPECT_EQ(code({"--time", "soon", "--print"}), 2);
  EXPECT_EQ(code({"--nodes", "0", "--print"}), 2);
  EXPECT_EQ(code({"--set", "training.epochs=-1"}), 2);
  EXPECT_EQ(study.detol({"slurm", "--space", "none.yaml"}).code, 3);
  const Ran printed =
      study.detol({"slurm", "--space", "tiny.yaml", "--nodes", "8", "--print", "--", "--qos=low"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out.find("#!/bin/bash\n"), 0U) << printed.out;
  EXPECT_NE(printed.out.find("--qos=low"), std::string::npos);
  const Ran alone =
      Program(study.path(), {"slurm", "--space", "tiny.yaml"}, {"PATH=/nowhere"}).wait();
  EXPECT_EQ(alone.code, 2) << alone.err;
  EXPECT_NE(alone.err.find("there is no sbatch"), std::string::npos) << alone.err;
  EXPECT_EQ(listing(study.path()), before);
}

}  // namespace
}  // namespace detol::testing_support
