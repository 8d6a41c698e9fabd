// A knowledge base that another SQLite client had open, and commands that start processes on it
// (tests/cli/touched_base_test.cpp has the others).

#include "tests/e2e/searched_study.h"
#include "tests/support/other_program.h"

namespace detol::testing_support {
namespace {

TEST(TouchedBaseOfATraining, IsResumedTrainedTestedAndExported) {
  const Searched study;
  ASSERT_EQ(study.search.code, 0) << study.search.err;
  const std::vector<std::vector<std::string>> calls = {
      {"test"},
      {"export", "--to", "onnx"},
      {"predict", "tiny", "--data", "data/t10k-images-idx3-ubyte"},
      {"retrain", "tiny", "--trial", "best", "--epochs", "1"},
      {"resume", "tiny", "--budget", "+1trials", "--workers", "1"},
      {"search", "--space", "tiny.yaml", "--workers", "1", "--study", "second", "--budget",
       "1trials"},
      {"db", "check"}};
  for (const auto& words : calls) {
    OtherProgram(study.path() / "detol.db").run("VACUUM");
    const Ran ran = study.detol(words);
    EXPECT_EQ(ran.code, 0) << words[0] << ": " << ran.err;
  }
}

TEST(TouchedBaseOfATraining, IsReadWhileTheOtherProgramHasItOpen) {
  const Searched study;
  OtherProgram other(study.path() / "detol.db");
  other.run("CREATE TABLE mine (x)");
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"studies"},
           {"resume", "tiny", "--budget", "+1trials", "--workers", "1"},
           {"db", "check"}}) {
    const Ran ran = study.detol(words);
    EXPECT_EQ(ran.code, 0) << words[0] << ": " << ran.err;
    other.run("INSERT INTO mine VALUES (1)");
  }
}

TEST(TouchedBaseOfAKilledSearch, GoesOn) {
  const TempFolder folder;
  write_bytes(folder.path() / "naps.yaml",
              "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0.01}\n"
              "search: {algorithm: random}\nbudget: 1000trials\n");
  Program search(folder.path(), {"search", "--space", "naps.yaml", "-j", "1"});
  EXPECT_TRUE(search.says("trial 5 COMPLETE")) << search.wait().err;
  search.kill_everything();
  { OtherProgram closes(folder.path() / "detol.db"); }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"studies"},
                                             {"status"},
                                             {"db", "check"},
                                             {"db", "backup"},
                                             {"study", "note", "naps", "x"},
                                             {"resume", "naps", "--budget", "9trials"},
                                             {"db", "check"}}) {
    const Ran ran = run(folder.path(), words);
    EXPECT_EQ(ran.code, 0) << words[0] << ": " << ran.err;
  }
}

}  // namespace
}  // namespace detol::testing_support
