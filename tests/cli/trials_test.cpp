// The command `trials` as people read it, over a study that is written into a ledger.

#include <sstream>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

constexpr double kLosses[] = {0.5, 0.2, 0.3}, kScores[] = {0.7, 0.9, 0.8};

class TrialsCommand : public testing_support::CommandOnBase {
 protected:
  void SetUp() override {
    const StudyConfig config = load_study_config(
                                   "version: 1\nstudy: s\nexternal: {}\nparameters:\n"
                                   "  lr: {type: float, low: 0.001, high: 1, log: true}\n"
                                   "  opt: {type: categorical, choices: [sgd, adam]}\n"
                                   "objectives: [{metric: loss, direction: minimize}]\n",
                                   "s.yaml")
                                   .value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = config.objectives;
    const StudyId study = ledger->create_study(record).value();
    for (TrialId id = 0; id < 3; ++id) {
      Rng rng = Rng(5).split(id);
      append_trial(*ledger, study, id, config.space.sample(rng),
                   {{"loss", kLosses[id]}, {"val_f1", kScores[id]}});
    }
  }

  std::vector<std::int64_t> trials_of(std::vector<std::string> words) const {
    std::vector<std::int64_t> ids;
    for (const Json& row : json(std::move(words))) ids.push_back(row["trial"]);
    return ids;
  }

  std::string first_line(std::vector<std::string> words) const {
    const Answer answer = run(std::move(words));
    EXPECT_TRUE(answer.code) << answer.code.error().message;
    std::istringstream words_of(answer.out.substr(0, answer.out.find('\n')));
    std::string line, word;
    while (words_of >> word) line += (line.empty() ? "" : " ") + word;
    return line;
  }
};

using Ids = std::vector<std::int64_t>;

TEST_F(TrialsCommand, ShowsParametersAndNoColumnThatIsEmptyInEveryTrial) {
  EXPECT_EQ(first_line({"trials", "s"}),
            "trial state epochs values.loss values.val_f1 params.lr params.opt");
  EXPECT_EQ(first_line({"best", "s", "--top", "2"}),
            "trial state epochs values.loss values.val_f1 params.lr params.opt");
}

TEST_F(TrialsCommand, TakesEveryColumnThatCsvHas) {
  EXPECT_EQ(first_line({"trials", "s", "--columns", "trial,value,lr,opt,failure"}),
            "trial value params.lr params.opt failure");
  std::string columns = first_line({"trials", "s", "-f", "csv"});
  for (const char* column : {"value", "values.loss", "params.lr", "flops", "started"})
    EXPECT_NE(("," + columns + ",").find("," + std::string(column) + ","), std::string::npos)
        << column;
  for (const std::string command : {"trials", "best"})
    EXPECT_TRUE(run({command, "s", "--columns", columns}).code) << command;
  EXPECT_FALSE(run({"trials", "s", "--columns", "lrr"}).code);
}

TEST_F(TrialsCommand, ShowsTheBestFirstOfTheTop) {
  EXPECT_EQ(trials_of({"trials", "s", "--top", "2"}), (Ids{1, 2}));
  EXPECT_EQ(trials_of({"best", "s", "--top", "2"}), (Ids{1, 2}));
  EXPECT_EQ(trials_of({"trials", "s", "--sort", "val_f1"}), (Ids{1, 2, 0}));
  EXPECT_EQ(trials_of({"trials", "s"}), (Ids{0, 1, 2}));
}

TEST_F(TrialsCommand, ShowsThoseThatHaveATag) {
  ASSERT_TRUE(run({"trial", "s", "1", "--tag", "keep", "--tag", "odd"}).code);
  ASSERT_TRUE(run({"trial", "s", "2", "--tag", "keep"}).code);
  EXPECT_EQ(trials_of({"trials", "s", "--tag", "keep"}), (Ids{1, 2}));
  ASSERT_TRUE(run({"trial", "s", "1", "--remove", "--tag", "keep"}).code);
  EXPECT_EQ(trials_of({"trials", "s", "--tag", "keep"}), Ids{2});
  EXPECT_EQ(trials_of({"trials", "s", "--tag", "odd"}), Ids{1});
  EXPECT_FALSE(run({"trial", "s", "1", "--tag", "two words"}).code);
}

TEST_F(TrialsCommand, ShowsTheHistoryAndTheCurveOfOneTrial) {
  const Json log = json({"trial", "s", "1", "--log"});
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log[0]["event"], "asked");
  EXPECT_EQ(log[3]["event"], "told");
  EXPECT_EQ(json({"trial", "s", "1", "--curve"}),
            Json::array({{{"epoch", 1}, {"loss", 0.2}, {"val_f1", 0.9}}}));
}

TEST_F(TrialsCommand, AndBestLeavesOutWhatATrialDoesNotHave) {
  const Answer best = run({"best", "s"});
  ASSERT_TRUE(best.code);
  for (const char* none : {"network_params", "flops", "failure", "architecture", "device_seconds"})
    EXPECT_EQ(best.out.find(none), std::string::npos) << none << "\n" << best.out;
  EXPECT_NE(best.out.find("params.lr"), std::string::npos);
}

}  // namespace
}  // namespace detol
