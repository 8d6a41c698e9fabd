// Tests of the user at the terminal: questions before anything is deleted, limits
// of a query, and no control characters of text from outside.

#include <sys/resource.h>

#include <fstream>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/e2e/terminal.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Words = std::vector<std::string>;

// A folder with the study "naps" of two trials.
class Person : public testing::Test {
 protected:
  Person() {
    std::ofstream(folder_.path() / "naps.yaml")
        << "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0.01}\n"
           "search: {algorithm: random}\nbudget: 2trials\n";
    const Ran made = detol({"search", "--space", "naps.yaml", "-j", "1"});
    EXPECT_EQ(made.code, 0) << made.err;
  }

  Ran detol(const Words& words) const { return run(folder_.path(), words); }
  bool is_there() const { return detol({"status", "naps"}).code == 0; }

  TempFolder folder_;
};

TEST_F(Person, IsAskedBeforeAStudyIsDeleted) {
  const Words words = {"study", "delete", "naps"};
  const Ran no = run_on_terminal(folder_.path(), words, "n\n");
  EXPECT_EQ(no.code, 75) << no.out;
  EXPECT_NE(no.out.find("delete study naps: 2 trials, 0 files"), std::string::npos) << no.out;
  EXPECT_TRUE(is_there());
  EXPECT_EQ(run_on_terminal(folder_.path(), words, "\n").code, 75);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(run_on_terminal(folder_.path(), words, "y\n").code, 0);
  EXPECT_FALSE(is_there());
}

TEST_F(Person, WithoutATerminalNeedsTheOptionYes) {
  const Ran refused = detol({"study", "delete", "naps"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--yes"), std::string::npos) << refused.err;
  EXPECT_TRUE(is_there());
  EXPECT_EQ(detol({"study", "delete", "nap", "--yes"}).code, 4);
  EXPECT_EQ(detol({"study", "delete", "naps", "--yes"}).code, 0);
  EXPECT_FALSE(is_there());
}

TEST_F(Person, CannotNameAStudyLikeAnOption) {
  for (const Words& words : std::vector<Words>{{"search", "--space", "naps.yaml", "--study=-x"},
                                               {"study", "rename", "naps", "--", "-x"},
                                               {"study", "copy", "naps", "--", "-x"}}) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("'-x' cannot be a study's name"), std::string::npos) << ran.err;
  }
  // An older version allowed the name: a command looks for it after `--`.
  EXPECT_EQ(detol({"status", "--", "-x"}).code, 4);
  EXPECT_NE(detol({"status", "--", "-x"}).err.find("unknown study '-x'"), std::string::npos);
}

constexpr const char* kEndless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";

TEST_F(Person, GetsNoMoreOfAQueryThanItsLimits) {
  const auto query = [&](const std::string& rest, Words words) {
    words.insert(words.begin(), {"query", "-f", "csv"});
    words.push_back(kEndless + rest);
    return detol(words);
  };
  const Ran cut = query("i FROM n", {"--limit", "3"});
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_EQ(cut.out, "i\n1\n2\n3\n");
  EXPECT_NE(cut.err.find("first 3 rows"), std::string::npos) << cut.err;
  const Ran many = query("i FROM n", {});
  EXPECT_EQ(many.code, 2);
  EXPECT_EQ(many.out, "");
  EXPECT_NE(many.err.find("more than 1000000 rows"), std::string::npos) << many.err;
  EXPECT_NE(query("count(*) FROM n", {"--timeout", "0.1s"}).err.find("--timeout"),
            std::string::npos);
  EXPECT_NE(query("randomblob(100000) FROM n", {"--memory", "5MB"}).err.find("--memory"),
            std::string::npos);
  for (const Words& wrong :
       std::vector<Words>{{"--limit", "0"}, {"--timeout", "soon"}, {"--memory", "much"}})
    EXPECT_EQ(query("1", wrong).code, 2) << wrong[1];
}

TEST_F(Person, GetsNoControlCharactersOfData) {
  const std::string evil = "\x1b]0;owned\x07\x1b[2J";
  for (const Words& words :
       std::vector<Words>{{"query", "SELECT '" + evil + "' AS \"" + evil + "\""},
                          {"query", evil},
                          {"status", evil},
                          {"study", "delete", evil, "--yes"},
                          {evil},
                          {"status", "--storage", evil},
                          {"status", "--" + evil}}) {
    const Ran ran = detol(words);
    EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos) << words.front();
    EXPECT_NE((ran.out + ran.err).find("\\x1b"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace detol::testing_support
