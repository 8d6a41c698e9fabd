// `detol new` and `detol data inspect`: from a table to a space file that runs.

#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

// Sixty records between semicolons: an identifier, a note, a number with gaps, a colour, a label.
void write_table(const std::filesystem::path& path, bool is_regression) {
  std::string text = "id;note;age;colour;target\n";
  for (int i = 0; i < 60; ++i) {
    text += std::to_string(i) + ";remark " + std::to_string(i * 31) + ";" +
            (i % 5 == 0 ? "?" : std::to_string(i % 17) + ",5") + ";" +
            (i % 3 == 0 ? "red" : "blue") + ";" +
            (is_regression ? std::to_string(i * 3 % 41)
             : i % 2 == 0  ? "yes"
                           : "no") +
            "\n";
  }
  write_bytes(path, text);
}

TEST(New, WritesASpaceForATableThatRuns) {
  const TempFolder folder;
  write_table(folder.path() / "people.csv", false);
  const Ran made = run(folder.path(), {"new", "table", "--data", "people.csv"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string text = read_file(folder.path() / "people.yaml").value();
  EXPECT_NE(text.find("study: people\n"), std::string::npos) << text;
  EXPECT_NE(text.find("drop: [\"id\", \"note\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("metric: val_loss"), std::string::npos) << text;
  const Ran ran = run(folder.path(), {"search", "--space", "people.yaml", "--budget", "2trials",
                                      "--set", "training.epochs=3"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("test_loss"), std::string::npos) << ran.err;
}

// Returns how often the text has the word.
int count_of(const std::string& word, const std::string& text) {
  int count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Search, SaysOnceWhatItFoundInTheDataUnlessItIsQuiet) {
  const TempFolder folder;
  write_table(folder.path() / "people.csv", false);
  const auto search = [&](const std::string& study, std::vector<std::string> more) {
    std::vector<std::string> words = {"search", "--space",    "mlp_table",        "--study", study,
                                      "--data", "people.csv", "--budget",         "1trials", "-j",
                                      "1",      "--set",      "training.epochs=1"};
    words.insert(words.end(), more.begin(), more.end());
    return run(folder.path(), words);
  };
  const Ran ran = search("loud", {});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(count_of("column 'note': text", ran.err), 1) << ran.err;
  EXPECT_EQ(count_of("column 'id': counts the records", ran.err), 1) << ran.err;
  EXPECT_EQ(count_of("60 records of 5 columns", ran.err), 1) << ran.err;
  EXPECT_EQ(count_of(" (people.csv)\n", ran.err), 1) << ran.err;
  const Ran resumed = run(folder.path(), {"resume", "loud", "--budget", "+1trials", "-j", "1"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(count_of("column 'note': text", resumed.err), 1) << resumed.err;
  const Ran quiet = search("quiet", {"-q"});
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(count_of("column", quiet.err), 0) << quiet.err;
  const Ran kept = run(folder.path(), {"query", "-f", "csv",
                                       "SELECT facts_json->>'remarks' AS said FROM v_datasets"});
  EXPECT_EQ(count_of("column 'note': text", kept.out), 1) << kept.out << kept.err;
}

// With such a rate the accuracy stays that of the first epoch, which is then the best, while the
// loss changes in every epoch.
TEST(New, ATestedModelHasTheValidationMetricsOfItsBestEpoch) {
  const TempFolder folder;
  write_table(folder.path() / "people.csv", false);
  ASSERT_EQ(run(folder.path(), {"new", "table", "--data", "people.csv"}).code, 0);
  const Ran ran =
      run(folder.path(), {"search", "--space", "people.yaml", "--budget", "1trials", "--pruner",
                          "none", "--set", "training.epochs=4", "--set", "training.ema=0", "--set",
                          "parameters.lr=1.0e-6", "--set", "architecture.stages[0].block.norm=none",
                          "--set", "objectives=[{metric: val_accuracy, direction: maximize}]"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran asked =
      run(folder.path(),
          {"query", "-f", "csv",
           "SELECT t.epochs, t.best_epoch, m.values_json->>'val_loss' = x.value AS same FROM "
           "v_models m, v_trials t, v_metrics x WHERE x.trial = t.trial AND x.epoch = "
           "t.best_epoch AND x.name = 'val_loss'"});
  EXPECT_EQ(asked.out, "epochs,best_epoch,same\n4,1,1\n") << asked.err;
}

TEST(New, BeginsWithTheRegressionWhereTheLabelIsANumber) {
  const TempFolder folder;
  write_table(folder.path() / "numbers.csv", true);
  const Ran made = run(folder.path(), {"new", "table", "--data", "numbers.csv", "-o", "mine.yaml"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string text = read_file(folder.path() / "mine.yaml").value();
  EXPECT_NE(text.find("task: regression"), std::string::npos) << text;
  EXPECT_NE(text.find("metric: val_rmse"), std::string::npos) << text;
  EXPECT_EQ(run(folder.path(), {"validate", "--space", "mine.yaml"}).code, 0);
}

TEST(New, WritesASpaceForAProgramThatRuns) {
  const TempFolder folder;
  const Ran made = run(folder.path(), {"new", "tune", "-o", "mine.yaml"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("detol tune --space mine.yaml --budget 50trials"), std::string::npos)
      << made.err;
  EXPECT_EQ(run(folder.path(), {"validate", "--space", "mine.yaml"}).code, 0);
  const Ran ran = run(folder.path(), {"tune", "--space", "mine.yaml", "--budget", "5trials"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran counted = run(
      folder.path(), {"query", "-f", "csv",
                      "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE' AND value > 0"});
  EXPECT_EQ(counted.out, "n\n5\n") << ran.err;
}

TEST(New, ImportsASweepThatRuns) {
  const TempFolder folder;
  write_bytes(folder.path() / "train.sh",
              "printf '{\"loss\": %s}\\n' \"${1#x=}\" >> \"$DETOL_REPORT\"\n");
  write_bytes(
      folder.path() / "sweep.yaml",
      "name: my sweep\nprogram: train.sh\ncommand: [sh, '${program}', '${args_no_hyphens}']\n"
      "method: random\nmetric: {name: loss}\nparameters: {x: {min: 3, max: 5},\n"
      "  y: {distribution: normal}}\nrun_cap: 4\n");
  const Ran made = run(folder.path(), {"new", "--from", "sweep.yaml"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.err.find("sweep.yaml: y: a normal distribution"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("detol tune --space my-sweep.yaml"), std::string::npos) << made.err;
  const std::string text = read_file(folder.path() / "my-sweep.yaml").value();
  EXPECT_NE(text.find("  # a normal distribution"), std::string::npos) << text;
  const Ran ran = run(folder.path(), {"tune", "--space", "my-sweep.yaml"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran counted = run(folder.path(), {"query", "-f", "csv",
                                          "SELECT count(*) AS n FROM v_trials WHERE state = "
                                          "'COMPLETE' AND value BETWEEN 3 AND 5"});
  EXPECT_EQ(counted.out, "n\n4\n") << ran.err;
}

TEST(New, WritesNothingOfWhatItCannotImport) {
  const TempFolder folder;
  write_bytes(folder.path() / "space.yaml", "lr: tune.uniform(0, 1)\nf: tune.sample_from(g)\n");
  const Ran made = run(folder.path(), {"new", "--from", "space.yaml", "-o", "mine.yaml"});
  EXPECT_EQ(made.code, 3);
  EXPECT_NE(made.err.find("space.yaml:2:1: f: unknown word 'sample_from'"), std::string::npos)
      << made.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "mine.yaml"));
  write_bytes(folder.path() / "space.yaml", "lr: tune.uniform(0, 1)\n");
  EXPECT_EQ(run(folder.path(), {"new", "cnn", "--from", "space.yaml"}).code, 2);
  EXPECT_EQ(run(folder.path(), {"new", "--from", "space.yaml", "--study", "a/b"}).code, 2);
  EXPECT_EQ(run(folder.path(), {"new"}).code, 2);
}

TEST(New, OverwritesNothing) {
  const TempFolder folder;
  ASSERT_EQ(run(folder.path(), {"new", "cnn"}).code, 0);
  const std::string before = read_file(folder.path() / "cnn.yaml").value();
  const Ran again = run(folder.path(), {"new", "cnn"});
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("cnn.yaml exists"), std::string::npos) << again.err;
  EXPECT_EQ(read_file(folder.path() / "cnn.yaml").value(), before);
  EXPECT_EQ(run(folder.path(), {"new", "nosuch"}).code, 2);
}

TEST(DataInspect, SaysWhatEachColumnOfATableIs) {
  const TempFolder folder;
  write_table(folder.path() / "people.csv", false);
  const Ran ran = run(folder.path(), {"data", "inspect", "people.csv", "-f", "csv"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("note,left out,category,0,60,"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("colour,input,category,0,2,"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("target,label,category,0,2,"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("between semicolons, with decimal commas"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace detol::testing_support
