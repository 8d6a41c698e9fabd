// `db import` and `db export`: from files to studies and back.

#include "studies/trial_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "core/file.h"
#include "knowledge/exchange/optuna.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// The file of the table is never read: the trials come from elsewhere.
constexpr const char* kImportSpace = R"(version: 1
study: imported
parameters:
  op: {type: categorical, choices: [sgd, adamw]}
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
  momentum: {type: float, low: 0.8, high: 0.99, when: {op: sgd}}
table: {path: none.csv, key: [op, lr, momentum], metrics: {val_accuracy: accuracy, val_loss: loss}}
objectives: [{metric: val_accuracy, direction: maximize}]
search: {algorithm: random}
budget: 10trials
)";

class TrialFiles : public testing::Test {
 protected:
  void SetUp() override { put("space.yaml", kImportSpace); }

  std::string put(const std::string& name, const std::string& text) {
    const std::string path = this->path(name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  Result<int> run(std::vector<std::string> words) {
    words.insert(words.end(), {"--storage", path("detol.db"), "-q"});
    auto call = parse(words);
    if (!call) return tl::unexpected(call.error());
    testing::internal::CaptureStdout();
    auto code = run_call(*call);
    out_ = testing::internal::GetCapturedStdout();
    return code;
  }

  Result<int> import(const std::string& file, const std::string& study) {
    return run({"db", "import", file, "--space", path("space.yaml"), "--study", study});
  }

  std::string message_of(const std::string& name, const std::string& text) {
    const auto code = import(put(name, text), "s");
    EXPECT_FALSE(code) << text;
    if (code) return "";
    EXPECT_EQ(code.error().code, ErrorCode::kInput) << code.error().message;
    return code.error().message;
  }

  std::vector<std::vector<Cell>> select(const std::string& sql) const {
    return Reader::open(path("detol.db")).value()->select(sql).value().rows;
  }

  testing_support::TempFolder folder_;
  std::string out_;
};

constexpr const char* kCsv =
    "trial,state,epoch,op,lr,momentum,val_accuracy,note\n"
    "a,,1,sgd,0.01,0.9,0.5,x\n"
    "a,COMPLETE,2,sgd,0.01,0.9,0.75,x\n"
    "b,PRUNED,1,adamw,0.001,,0.25,\n"
    "c,FAIL,,adamw,0.1,,,\n";

TEST_F(TrialFiles, ACsvFileBecomesADoneStudyWithCurves) {
  ASSERT_TRUE(import(put("t.csv", kCsv), "s"));
  const auto trials = select("SELECT state, epochs, value FROM v_trials ORDER BY trial");
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0], (std::vector<Cell>{std::string("COMPLETE"), std::int64_t{2}, 0.75}));
  EXPECT_EQ(trials[1], (std::vector<Cell>{std::string("PRUNED"), std::int64_t{1}, 0.25}));
  EXPECT_EQ(std::get<std::string>(trials[2][0]), "FAIL");
  EXPECT_EQ(select("SELECT * FROM v_metrics WHERE trial = 0").size(), 2U);
  EXPECT_EQ(std::get<std::string>(select("SELECT state FROM v_studies")[0][0]), "DONE");
}

// As in `detol new --from`, and in what Python writes.
TEST_F(TrialFiles, NullIsTheChoiceNoneOfAParameterThatHasIt) {
  put("space.yaml",
      "version: 1\nstudy: s\nexternal: {}\nparameters: {max_depth: {type: categorical, choices: "
      "[None, 10]}}\nobjectives: [{metric: loss, direction: minimize}]\n");
  ASSERT_TRUE(import(put("t.jsonl", R"({"params": {"max_depth": null}, "value": 0.5})"), "s"));
  EXPECT_EQ(std::get<std::string>(select("SELECT value FROM v_params")[0][0]), "None");
  ASSERT_TRUE(run({"db", "export", "--to", "optuna", "-o", path("optuna.db")}));
  ASSERT_TRUE(import(path("optuna.db"), "again"));
  EXPECT_EQ(select("SELECT value FROM v_params").size(), 2U);
}

TEST_F(TrialFiles, ABadRowIsNamedAndLeavesNoStudy) {
  const auto has = [this](const std::string& text, const std::string& says) {
    const std::string message = message_of("t.csv", text);
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(path("detol.db")));
  };
  has("op,lr,val_accuracy\nadamw,0.01,0.5\nadamw,5,0.5\n",
      "t.csv:3: lr cannot be 5; it accepts 0.0001 to 0.1");
  has("op,lr,val_accuracy\nadamw,,0.5\n", "t.csv:2: lr is missing; it accepts 0.0001 to 0.1");
  has("op,lr,val_accuracy\nadam,0.01,0.5\n", "t.csv:2: op cannot be adam; it accepts sgd, adamw");
  has("op,lr,momentum,val_accuracy\nadamw,0.01,0.9,0.5\n", "op switches it off");
  has("op,lr\nadamw,0.01\n", "t.csv:2: val_accuracy is missing");
  has("op,lr,state\nadamw,0.01,DONE\n", "t.csv:2: unknown state 'DONE'");
}

TEST_F(TrialFiles, TheColumnValueIsTheObjectiveThatIsNamed) {
  const std::string space = path("space.yaml");
  put("space.yaml", [&] {
    std::string text = kImportSpace;
    const std::string one = "{metric: val_accuracy, direction: maximize}";
    return text.insert(text.find(one) + one.size(), ", {metric: val_loss, direction: minimize}");
  }());
  const std::string file = put("t.csv", "op,lr,value,val_accuracy\nadamw,0.01,0.5,0.75\n");
  ASSERT_TRUE(
      run({"db", "import", file, "--space", space, "--study", "s", "--metric", "val_loss"}));
  EXPECT_EQ(select("SELECT name, value FROM v_metrics ORDER BY name"),
            (std::vector<std::vector<Cell>>{{"val_accuracy", 0.75}, {"val_loss", 0.5}}));
}

TEST_F(TrialFiles, AreLeftOutAsLongAsTheyAreNotOver) {
  ASSERT_TRUE(import(put("t.csv",
                         "op,lr,state,val_accuracy\nadamw,0.01,COMPLETE,0.5\n"
                         "adamw,0.02,RUNNING,0.9\nadamw,0.03,WAITING,\nadamw,0.04,PRUNED,0.4\n"),
                     "s"));
  EXPECT_EQ(select("SELECT state FROM v_trials ORDER BY trial"),
            (std::vector<std::vector<Cell>>{{"COMPLETE"}, {"PRUNED"}}));
}

TEST_F(TrialFiles, OnlyACompleteTrialWasTrainedToItsEnd) {
  put("space.yaml",
      "version: 1\nstudy: s\nexternal: {steps: 5}\nparameters:\n  x: {type: float, low: 0, high: "
      "1}\nobjectives: [{metric: loss, direction: minimize}]\n");
  const auto code = import(put("t.csv", "x,state,loss\n0.5,COMPLETE,1\n0.25,PRUNED,2\n"), "s");
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(select("SELECT epochs FROM v_trials ORDER BY trial"),
            (std::vector<std::vector<Cell>>{{std::int64_t{5}}, {std::int64_t{1}}}));
}

TEST_F(TrialFiles, AnExportIsImportedAgain) {
  ASSERT_TRUE(import(put("t.csv", kCsv), "s"));
  const std::string sql =
      "SELECT trial, state, failure, epochs, value, params_json FROM v_trials WHERE study = ";
  const auto before = select(sql + "'s'");
  for (const char* to : {"csv", "json", "optuna"}) {
    const std::string file = path(std::string("out.") + to);
    ASSERT_TRUE(run({"db", "export", "--to", to, "--study", "s", "-o", file})) << to;
    const auto code = import(file, to);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(select(sql + "'" + to + "'"), before) << to;
  }
  const auto curve = [this](const std::string& study) {
    return select("SELECT trial, epoch, name, value FROM v_metrics WHERE study = '" + study + "'");
  };
  EXPECT_EQ(curve("json"), curve("s"));
  EXPECT_EQ(curve("optuna"), curve("s"));
}

TEST_F(TrialFiles, SeveralStudiesAreToldApart) {
  ASSERT_TRUE(import(put("t.csv", kCsv), "s"));
  ASSERT_TRUE(import(path("t.csv"), "t"));
  ASSERT_TRUE(run({"db", "export", "--to", "csv"}));
  EXPECT_TRUE(out_.starts_with("study,trial,state,epoch,failure,op,lr,momentum,val_accuracy\n"))
      << out_;
  const auto file = put("both.csv", out_);
  EXPECT_EQ(import(file, "u").error().code, ErrorCode::kUsage);
  EXPECT_TRUE(
      run({"db", "import", file, "--space", path("space.yaml"), "--study", "u", "--from", "t"}));
  EXPECT_EQ(select("SELECT * FROM v_trials WHERE study = 'u'").size(), 3U);
}

TEST_F(TrialFiles, AFileIsReplacedByForceAlone) {
  ASSERT_TRUE(import(put("t.csv", kCsv), "s"));
  const std::vector<std::string> words = {"db", "export", "--to", "json", "-o", path("t.csv")};
  EXPECT_EQ(run(words).error().code, ErrorCode::kUsage);
  EXPECT_EQ(read_file(path("t.csv")).value(), kCsv);
  EXPECT_EQ(run({"db", "export", "--to", "optuna"}).error().code, ErrorCode::kUsage);
}

TEST_F(TrialFiles, MergeTakesSeveralFiles) {
  ASSERT_TRUE(import(put("t.csv", kCsv), "s"));
  ASSERT_TRUE(run({"db", "backup", path("a.db")}));
  ASSERT_TRUE(import(path("t.csv"), "t"));
  ASSERT_TRUE(run({"db", "backup", path("b.db")}));
  const auto call = parse({"db", "merge", path("a.db"), path("b.db"), "--storage", path("all.db")});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->arguments.all("FILE").size(), 2U);
  testing::internal::CaptureStdout();
  EXPECT_TRUE(run_call(*call));
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(Reader::open(path("all.db")).value()->studies().value().size(), 2U);
  EXPECT_FALSE(run({"db", "merge"}));
}

}  // namespace
}  // namespace detol
