// A search does not kill processes that are not its own.

#include <signal.h>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

constexpr const char* kNaps = R"(version: 1
study: naps
function: {name: sleep, seconds: 0.05}
search: {algorithm: random}
budget: 6trials
)";

// A search that a shell runs by exec, so that it gets the children of the shell. One of its
// workers is killed.
class Bystander : public testing::Test {
 protected:
  Bystander() { write_bytes(folder.path() / "naps.yaml", kNaps); }

  // Runs `script`, in which $SEARCH is the search.
  Ran bash(const std::string& script) const {
    const std::string search =
        "SEARCH=" + tested_program() + " search --space naps.yaml --workers 2 --log-file log";
    const Environment program("DETOL_PROGRAM", "/bin/bash");
    return Program(folder.path(), {"-c", script},
                   {search, "DETOL_FAULT=worker.order:2:kill",
                    "DETOL_FAULT_MARK=" + (folder.path() / "mark").string()})
        .wait();
  }
  std::string text(const std::string& file) const { return text_of(folder.path() / file); }

  TempFolder folder;
};

TEST_F(Bystander, AChildFromBeforeTheSearchIsSpared) {
  const Ran ran = bash("sleep 1000 & echo $! > pid; exec $SEARCH");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(text("mark").empty()) << "no worker was killed";
  const pid_t bystander = std::stoi(text("pid"));
  EXPECT_EQ(::kill(bystander, SIGKILL), 0) << "the search ended it";
}

TEST_F(Bystander, WhoCopiesTheOutputOfASearchGetsAllOfIt) {
  const Ran ran = bash("exec > >(tee copy) 2>&1; exec $SEARCH");
  EXPECT_EQ(ran.code, 0) << ran.err;
  while (!processes_in(folder.path()).empty()) {
  }
  EXPECT_NE(text("copy").find("look at it: `detol best naps`"), std::string::npos) << text("copy");
}

// Acts like a container: every orphan becomes a child of the search.
TEST_F(Bystander, AnOrphanThatBecomesAChildOfTheSearchIsSpared) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a process the first of its own";
  const Ran ran = bash(
      "function await() { while ! grep -q \"$1\" log; do sleep 0.01; done; }; export -f await\n"
      "unshare -pf --mount-proc bash -c '"
      "(await \"trial 0 COMPLETE\"; (await \"trial 9 COMPLETE\"; touch survived) &) & "
      "exec $SEARCH --budget 30trials'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(text("mark").empty()) << "no worker was killed";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "survived")) << "the search ended it";
}

}  // namespace
}  // namespace detol::testing_support
