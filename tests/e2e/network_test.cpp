// A search on a network file system: only the master may open the database.

#include <signal.h>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class Network : public testing::Test {
 protected:
  const Environment network_{"DETOL_TEST_NETWORK_FS", "1"};
  const TinyStudy study_;

  // Every read command.
  void expect_readable() const {
    for (const Words& words : std::vector<Words>{{"status"},
                                                 {"studies"},
                                                 {"status", "tiny"},
                                                 {"query", "SELECT study FROM v_studies"},
                                                 {"db", "check"}}) {
      const Ran ran = study_.detol(words);
      EXPECT_EQ(ran.code, 0) << words.front() << ran.err;
    }
  }

  std::string undisturbed() const {
    const TinyStudy other;
    EXPECT_EQ(other.detol(other.search_words()).code, 0);
    return other.results();
  }
};

TEST_F(Network, ASearchSaysSoOnce) {
  const Ran ran = study_.detol(study_.search_words());
  const std::string says = "is on a network file system";
  EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(says), ran.err.rfind(says)) << ran.err;
}

TEST_F(Network, ASearchIsReadWhileItRunsAndAfterwards) {
  Program search(study_.path(), study_.search_words());
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  EXPECT_FALSE(fs::exists(study_.path() / "detol.db-shm"));
  expect_readable();
  const Ran read = study_.detol({"studies"});
  if (!search.children("__master").empty()) {  // it has not ended meanwhile
    EXPECT_NE(read.err.find("reading its snapshot detol.ro.db, "), std::string::npos) << read.err;
  }
  EXPECT_EQ(search.wait().code, 0);
  expect_readable();
  const Json status = Json::parse(study_.detol({"status", "-f", "json"}).out);
  EXPECT_EQ(status["trained"], 6);
  EXPECT_FALSE(fs::exists(study_.path() / "detol.db-shm"));
  EXPECT_EQ(study_.detol({"db", "check", "--storage", "detol.ro.db"}).code, 0);
  EXPECT_EQ(study_.detol({"db", "check", "--against", "detol.ro.db"}).code, 0);
}

TEST_F(Network, TheLastSnapshotHasTheWholeStudy) {
  ASSERT_EQ(study_.detol(study_.search_words()).code, 0);
  const Ran snapshot = study_.detol({"status", "--storage", "detol.ro.db", "-f", "json"});
  EXPECT_EQ(Json::parse(snapshot.out), Json::parse(study_.detol({"status", "-f", "json"}).out));
}

TEST_F(Network, AKilledSearchIsReadAndResumedToTheSameResults) {
  const std::string expected = undisturbed();
  for (const char* moment : {"trial 0 epoch 1:", "trial 3 starts"}) {
    const TinyStudy study;
    Program search(study.path(), study.search_words());
    ASSERT_TRUE(search.says(moment)) << search.wait().err;
    search.kill_everything();
    EXPECT_EQ(study.detol({"status", "tiny"}).code, 0);
    const Ran resumed = study.detol({"resume", "tiny"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(study.results(), expected) << moment;
  }
}

TEST_F(Network, AKilledMasterIsReplaced) {
  const std::string expected = undisturbed();
  Program search(study_.path(), study_.search_words());
  ASSERT_TRUE(search.says("trial 1 epoch 1:")) << search.wait().err;
  for (const pid_t pid : search.children("__master")) ::kill(pid, SIGKILL);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(study_.results(), expected);
}

TEST_F(Network, ASecondMasterIsRefused) {
  Program search(study_.path(), study_.search_words());
  ASSERT_TRUE(search.says("trial 0 epoch 1:")) << search.wait().err;
  for (const Words& words : std::vector<Words>{{"resume", "tiny"}, {"study", "delete", "tiny", "--yes"}}) {
    const Ran second = study_.detol(words);
    EXPECT_EQ(second.code, 5) << second.err;
    EXPECT_NE(second.err.find("being written by process"), std::string::npos) << second.err;
  }
  EXPECT_EQ(search.wait().code, 0);
}

}  // namespace
}  // namespace detol::testing_support
