// Searches under a `ulimit` of the shell.

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
function: {name: sleep, seconds: 0}
search: {algorithm: random}
budget: 400trials
)";

class Limits : public testing::Test {
 protected:
  Limits() { write_bytes(folder.path() / "naps.yaml", kNaps); }

  // Starts a search by exec from a shell with a limit.
  Program search_under(const std::string& limit) const {
    const std::string program = tested_program();
    const Environment shell("DETOL_PROGRAM", "/bin/bash");
    return Program(folder.path(),
                   {"-c", limit + "; exec " + program + " search --space naps.yaml --workers 1"});
  }
  Ran detol(const std::vector<std::string>& words) const { return run(folder.path(), words); }
  std::string complete() const {
    return detol({"query", "-f", "csv",
                  "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'"})
        .out;
  }

  TempFolder folder;
};

// A limit on the size of files acts like a full disk: the search waits, a stop is resumable.
TEST_F(Limits, OfFileSizePausesASearchWhichIsStoppedResumably) {
  Program search = search_under("ulimit -f 300");
  ASSERT_TRUE(search.says("the search waits until it can write")) << search.wait().err;
  search.signal(SIGTERM);
  const Ran stopped = search.wait();
  EXPECT_EQ(stopped.code, 75) << stopped.err;
  EXPECT_NE(stopped.err.find("stopped, but the last events cannot be written"), std::string::npos)
      << stopped.err;
  const Ran resumed = detol({"resume", "naps"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(complete(), "n\n400\n");
}

}  // namespace
}  // namespace detol::testing_support
