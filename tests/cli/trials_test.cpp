// The command `trials` as people read it, over a study that is written into a ledger.

#include <sstream>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

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
      append_trial(*ledger, study, id, config.space.sample(rng), {{"loss", 0.5}});
    }
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

TEST_F(TrialsCommand, ShowsParametersAndNoColumnThatIsEmptyInEveryTrial) {
  EXPECT_EQ(first_line({"trials", "s"}), "trial state epochs values.loss params.lr params.opt");
  EXPECT_EQ(first_line({"best", "s", "--top", "2"}),
            "trial state epochs values.loss params.lr params.opt");
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

TEST_F(TrialsCommand, AndBestLeavesOutWhatATrialDoesNotHave) {
  const Answer best = run({"best", "s"});
  ASSERT_TRUE(best.code);
  for (const char* none : {"network_params", "flops", "failure", "architecture", "device_seconds"})
    EXPECT_EQ(best.out.find(none), std::string::npos) << none << "\n" << best.out;
  EXPECT_NE(best.out.find("params.lr"), std::string::npos);
}

}  // namespace
}  // namespace detol
