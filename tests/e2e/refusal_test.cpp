// Every mistake is reported in one line, with its place and the right exit code, before anything
// is created.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_one_line(const Ran& ran, int code, const std::string& says) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(says), std::string::npos) << "says: " << ran.err << "should: " << says;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
}

struct BadSpace {
  const char* name;
  const char* from;  // in the tiny space
  const char* to;
  const char* says;
};

TEST(Refusal, OfABadSpaceFileHasItsPlace) {
  const BadSpace table[] = {
      {"unknown key", "seed: 7", "sede: 7", "tiny.yaml:3:1: "},
      {"duplicate key", "seed: 7", "seed: 7\nseed: 8", "tiny.yaml:4:1: "},
      {"impossible range", "low: 1.0e-3, high: 1.0e-1", "low: 1.0, high: 0.1", "tiny.yaml:17:7: "},
      {"unknown operation", "[conv, residual, identity]", "[conf, residual]", "tiny.yaml:12:"},
      {"unknown algorithm", "algorithm: evolution", "algorithm: evoluton", "tiny.yaml:22:21: "},
      {"unknown pruner", "name: asha", "name: ahsa", "tiny.yaml:22:40: "},
      {"unknown option", "min_resource: 1", "min_resources: 1", "tiny.yaml:22:40: "},
      {"bad budget", "budget: 6trials", "budget: 6tirals", "tiny.yaml:23:9: "},
      {"malformed", "architecture:", "architecture: [", "tiny.yaml:"},
      {"no such data", "path: data", "path: elsewhere", "tiny.yaml:4:"},
      {"empty", kTinySpace, "", "tiny.yaml:1:1: "},
  };
  for (const BadSpace& bad : table) {
    SCOPED_TRACE(bad.name);
    const TinyStudy study;
    write_bytes(study.path() / "tiny.yaml", replaced(kTinySpace, bad.from, bad.to));
    const auto before = listing(study.path());
    expect_one_line(study.detol({"search", "--space", "tiny.yaml"}), 3, bad.says);
    expect_one_line(study.detol({"validate", "--space", "tiny.yaml"}), 3, bad.says);
    EXPECT_EQ(listing(study.path()), before);
  }
}

struct BadWords {
  std::vector<std::string> words;
  int code;
  const char* says;
};

TEST(Refusal, OfBadWordsIsAnErrorOfUsage) {
  const BadWords table[] = {
      {{"--algorithm", "evolutoin"}, 2, "did you mean 'evolution'?"},
      {{"--pruner", "ahsa"}, 2, "did you mean 'asha'?"},
      {{"--budget", "ten"}, 2, "--budget: "},
      {{"--budget", "1gpu-h"}, 2, "cpu-h"},
      {{"--device", "cuda"}, 2, "use cpu"},
      {{"--device", "tpu"}, 2, "--device: unknown value 'tpu'"},
      {{"--launcher", "pbs"}, 2, "known: local"},
      {{"--launcher", "slurm"}, 2, "this is no Slurm job"},
      {{"--launcher", "ssh"}, 2, "add --hosts"},
      {{"--hosts", "a"}, 2, "hosts is for --launcher ssh"},
      {{"--launcher", "ssh", "--hosts", "a:0"}, 2, "name:N"},
      {{"--group-size", "0"}, 2, "at least 1"},
      {{"--workers", "none"}, 2, "workers is 'none'"},
      {{"--workers", "4096", "--group-size", "4096"}, 2, "at most 4096"},
      {{"--set", "training.epoch=3"}, 2, "did you mean 'epochs'?"},
      {{"--set", "nothing"}, 2, "key=value"},
      {{"--seed", "x"}, 2, "--seed: "},
      {{"--target", "val_accuracy"}, 2, "val_accuracy"},
      {{"--target", "val_acuracy>=0.9"}, 2, "did you mean 'val_accuracy'"},
      {{"--budjet", "1h"}, 2, "did you mean '--budget'?"},
      {{"--data", "elsewhere"}, 3, "--data: "},
      {{"--storage", "/proc/detol.db"}, 5, "/proc/detol.db"},
      {{"--storage", "tiny.yaml"}, 5, "tiny.yaml"},
      {{"--storage", "no/such/folder/detol.db"}, 5, "no/such/folder"},
      {{"--log-file", "/proc/log"}, 5, "/proc/log"},
  };
  const TinyStudy study;
  const auto before = listing(study.path());
  for (const BadWords& bad : table) {
    SCOPED_TRACE(bad.words.back());
    auto words = study.search_words();
    words.insert(words.end(), bad.words.begin(), bad.words.end());
    expect_one_line(study.detol(words), bad.code, bad.says);
    EXPECT_EQ(listing(study.path()), before);
  }
}

TEST(Refusal, OfDamagedDataNamesTheFile) {
  for (const char* file : {"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    for (const bool missing : {true, false}) {
      const TinyStudy study;
      const fs::path path = study.path() / "data" / file;
      if (missing) {
        fs::remove(path);
      } else {
        fs::resize_file(path, fs::file_size(path) / 2);
      }
      const auto before = listing(study.path());
      expect_one_line(study.detol(study.search_words()), 3, file);
      EXPECT_EQ(listing(study.path()), before);
    }
  }
}

TEST(Refusal, OfAFolderThatIsNotUtf8NamesIt) {
  const TempFolder folder;
  const fs::path latin = folder.path() / "caf\xe9";
  fs::create_directory(latin);
  write_bytes(latin / "t.csv", "a,b,y\n1,2,p\n3,4,q\n1,2,p\n3,4,q\n");
  write_bytes(latin / "fn.yaml", "version: 1\nstudy: fn\nfunction: {name: branin}\n");
  const std::string storage = (folder.path() / "x.db").string();
  const auto in_it = [&](const std::vector<std::string>& words) { return run(latin, words); };
  const std::vector<std::string> search = {"search", "--space", "fn.yaml",    "--budget", "1trials",
                                           "-j",     "1",       "--progress", "none"};
  expect_one_line(in_it(search), 2,
                  "--storage: '" + folder.path().string() + "/caf\\xe9/detol.db'");
  expect_one_line(in_it({"ask", "q", "--param", "x=float(0,1)", "--metric", "loss:minimize"}), 2,
                  "caf\\xe9/detol.db' is not UTF-8");
  expect_one_line(in_it({"new", "table", "--data", "t.csv"}), 2, "caf\\xe9/t.csv' is not UTF-8");
  expect_one_line(in_it({"validate", "--space", "mlp_table", "--data", "t.csv"}), 3,
                  "caf\\xe9/t.csv' is not UTF-8");
  expect_one_line(in_it({"validate", "--space", "mlp_table", "--data", "\xe9.csv"}), 2,
                  "not UTF-8: '\\xe9.csv'");
  expect_one_line(in_it({"tune", "--storage", storage, "--metric", "loss:minimize", "--param",
                         "x=float(0,1)", "--budget", "1trials", "--", "./p.sh"}),
                  3, "caf\\xe9/' is not UTF-8");
  auto elsewhere = search;
  elsewhere.insert(elsewhere.end(), {"--storage", storage});
  EXPECT_EQ(in_it(elsewhere).code, 0) << "the space file's own path is no part of the study";
}

TEST(Refusal, WithoutAStudyNothingIsShown) {
  const TinyStudy study;
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"status"}, {"studies"}, {"trials", "tiny"}, {"best", "tiny"}, {"resume", "tiny"}}) {
    expect_one_line(study.detol(words), 4, "detol.db");
  }
}

TEST(Refusal, OfABudgetOfGpusHoldsWhenResumingToo) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  for (const char* budget : {"1gpu-h", "+1gpu-h"}) {
    const Ran ran = study.detol({"resume", "tiny", "--budget", budget});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("cpu-h"), std::string::npos) << ran.err;
  }
}

TEST(Refusal, OfABadBudgetOfTheFileHoldsWhereAFlagReplacesIt) {
  const TinyStudy study;
  write_bytes(study.path() / "tiny.yaml",
              replaced(kTinySpace, "budget: 6trials", "budget: 500 bananas"));
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials"});
  expect_one_line(study.detol(words), 3, "tiny.yaml:23:9: budget '500 bananas'");
}

TEST(Refusal, IsNoneOfAMetricInTheWrongDirectionButThatIsSaid) {
  const TinyStudy study;
  write_bytes(study.path() / "tiny.yaml", replaced(kTinySpace, "val_accuracy, direction: maximize",
                                                   "val_loss, direction: maximize"));
  const Ran ran = study.detol({"validate", "--space", "tiny.yaml"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("val_loss is maximized, though less of it is better"), std::string::npos)
      << ran.err;
  write_bytes(study.path() / "tiny.yaml", kTinySpace);
  EXPECT_EQ(study.detol({"validate", "--space", "tiny.yaml"}).err, "");
}

TEST(Refusal, IsNoneOfRungsInsideTheWarmUpButThatIsSaid) {
  const TinyStudy study;
  const auto errors_with = [&](const std::string& training) {
    write_bytes(study.path() / "tiny.yaml",
                replaced(kTinySpace, "schedule: {name: cosine}", training));
    const Ran ran = study.detol({"validate", "--space", "tiny.yaml"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.err;
  };
  const std::string early = ", early_reports: [9, 3]";
  const std::string said =
      errors_with("schedule: {name: cosine, warmup_epochs: {type: int, low: 0, high: 1}}" + early);
  EXPECT_NE(said.find("tiny.yaml:22:40: search.pruner: 'asha' judges trials after 0.11 epochs, "
                      "inside a warm-up of 1"),
            std::string::npos)
      << said;
  EXPECT_EQ(errors_with("schedule: {name: cosine}" + early), "");
  EXPECT_EQ(errors_with("schedule: {name: cosine, warmup_epochs: 1}"), "");
}

TEST(Refusal, OfATotalBudgetBelowWhatIsUsed) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "2trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  expect_one_line(study.detol({"resume", "tiny", "--budget", "1trials"}), 2, "--budget +1trials");
  EXPECT_EQ(study.detol({"resume", "tiny", "--budget", "2trials"}).code, 0);
}

// `search --if-exists resume` takes a budget as `resume` does.
TEST(Refusal, OfABudgetThatWouldBeAddedToNothing) {
  const TempFolder folder;
  write_bytes(folder.path() / "f.yaml",
              "version: 1\nstudy: f\nfunction: {name: branin}\nsearch: {algorithm: random}\n");
  const auto search = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"search", "--space", "f.yaml", "-j", "1", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    return run(folder.path(), words);
  };
  const auto trials = [&] {
    return run(folder.path(), {"query", "SELECT count(*) AS n FROM v_trials", "-f", "csv"}).out;
  };
  expect_one_line(search({"--budget", "+5trials"}), 2, "--budget +5trials --if-exists resume");
  EXPECT_EQ(search({"--budget", "+5trials", "--if-exists", "resume"}).code, 0);
  EXPECT_EQ(trials(), "n\n5\n") << "a new study has the amount as its total";
  EXPECT_EQ(search({"--budget", "+5trials", "--if-exists", "resume"}).code, 0);
  EXPECT_EQ(trials(), "n\n10\n");
  EXPECT_EQ(search({"--budget", "12trials", "--if-exists", "resume"}).code, 0);
  EXPECT_EQ(trials(), "n\n12\n");
  expect_one_line(search({"--budget", "3trials", "--if-exists", "resume"}), 2,
                  "--budget 3trials is the total, of which 12 trials are used");
}

TEST(Refusal, IsForetoldByADryRun) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  words.emplace_back("--dry-run");
  expect_one_line(study.detol(words), 4, "study 'tiny' exists");
  words.insert(words.end(), {"--if-exists", "resume"});
  EXPECT_EQ(study.detol(words).code, 0);
  words.insert(words.end(), {"--set", "training.epochs=4"});
  expect_one_line(study.detol(words), 3, "training.epochs");
}

TEST(Refusal, OfASpaceThatThereIsNotNamesThoseThereAre) {
  const TinyStudy study;
  expect_one_line(study.detol({"search", "--space", "cn"}), 3, "did you mean 'cnn'?");
}

TEST(Refusal, OfAStudyThatExistsOrDoesNot) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  expect_one_line(study.detol(words), 4, "detol resume tiny");
  for (const char* command : {"status", "trials", "best", "resume"})
    expect_one_line(study.detol({command, "tinny"}), 4, "did you mean 'tiny'?");
  expect_one_line(study.detol({"trials", "tiny", "--state", "WAITING"}), 6, "tiny");
  expect_one_line(study.detol({"trial", "tiny", "99"}), 6, "99");
  expect_one_line(study.detol({"query", "SELECT nothing FROM v_trials"}), 2, "nothing");
  expect_one_line(study.detol({"query", "DELETE FROM studies"}), 2, "");
  words.insert(words.end(), {"--if-exists", "new"});
  EXPECT_EQ(study.detol(words).code, 0);
  EXPECT_EQ(study.detol({"status", "tiny-2"}).code, 0);
}

TEST(Refusal, OfADatabaseOfANewerDetol) {
  const TinyStudy study;
  auto words = study.search_words();
  words.insert(words.end(), {"--budget", "1trials"});
  ASSERT_EQ(study.detol(words).code, 0);
  std::string bytes = text_of(study.path() / "detol.db");
  bytes[62] = 99;  // SQLite's user_version, big-endian at 60
  write_bytes(study.path() / "detol.db", bytes);
  for (const auto& call : {std::vector<std::string>{"best", "tiny"}, {"resume", "tiny"}})
    expect_one_line(study.detol(call), 5, "newer");
}

}  // namespace
}  // namespace detol::testing_support
