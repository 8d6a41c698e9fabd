// The command `best`, by what was measured and by what a model expects, over studies that are
// written into a ledger.

#include <cmath>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

constexpr TrialId kLucky = 3;

class BestCommand : public testing_support::CommandOnBase {
 protected:
  // Writes a study of a noisy bowl; its trial kLucky is poor and was measured far too well.
  void write_study(TrialId trials, const std::vector<Objective>& more = {},
                   const std::string& search = "") const {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere, noise: 5}\n" + search,
                          "s.yaml")
            .value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = config.objectives;
    record.objectives.insert(record.objectives.end(), more.begin(), more.end());
    const StudyId study = ledger->create_study(record).value();
    for (TrialId id = 0; id < trials; ++id) append(*ledger, study, config.space, id);
  }

  static double true_value(const Genome& genome) {
    return std::pow(genome.number("x0"), 2) + std::pow(genome.number("x1"), 2);
  }

  static Genome genome_of_trial(const Space& space, TrialId id) {
    if (id == kLucky) return space.at(std::vector<double>{0.8, 0.8});  // 3, 3
    Rng rng = Rng(5).split(id);
    return space.sample(rng);
  }

  static void append(Ledger& ledger, StudyId study, const Space& space, TrialId id) {
    const Genome genome = genome_of_trial(space, id);
    Rng rng = Rng(6).split(id);
    const double value = id == kLucky ? -12 : true_value(genome) + 5 * rng.normal();
    append_trial(ledger, study, id, genome, {{"value", value}, {"other", 1.0}});
  }
};

TEST_F(BestCommand, IsTheBestMeasuredUnlessAskedForThePosterior) {
  write_study(60);
  EXPECT_EQ(json({"best", "s"})["trial"], kLucky);
  EXPECT_EQ(json({"best", "s", "--by", "observed"})["trial"], kLucky);
  const Json best = json({"best", "s", "--by", "posterior"});
  EXPECT_NE(best["trial"], kLucky);
  const double truth = std::pow(best["params"]["x0"].get<double>(), 2) +
                       std::pow(best["params"]["x1"].get<double>(), 2);
  EXPECT_LT(truth, 9);  // that of the lucky trial is 18
  EXPECT_NEAR(best["posterior_mean"].get<double>(), truth, 7);
  EXPECT_GT(best["posterior_deviation"], 0);
}

TEST_F(BestCommand, OfAStudyThatMeasuresAgainIsByThePosteriorUnlessAskedForTheMeasured) {
  write_study(60, {}, "search: {repeats: 1}\n");
  EXPECT_EQ(json({"best", "s"}), json({"best", "s", "--by", "posterior"}));
  EXPECT_EQ(json({"best", "s", "--by", "observed"})["trial"], kLucky);
}

TEST_F(BestCommand, OfAStudyThatMeasuresAgainIsWhatOtherCommandsTakeForTheBest) {
  write_study(60, {}, "search: {repeats: 1}\n");
  const Json best = json({"best", "s"})["trial"];
  EXPECT_NE(best, kLucky);
  EXPECT_EQ(json({"trial", "s", "best"})["trial"], best);
}

TEST_F(BestCommand, OfAStudyThatMeasuresAgainWithFewTrialsIsTheBestMeasured) {
  write_study(4, {}, "search: {repeats: 1}\n");
  EXPECT_EQ(json({"best", "s"})["trial"], kLucky);
  EXPECT_EQ(json({"trial", "s", "best"})["trial"], kLucky);
}

TEST_F(BestCommand, AFinalChoiceCountsAlsoInAStudyThatMeasuresAgain) {
  write_study(60, {}, "search: {repeats: 1}\n");
  const std::vector<Event> choice = {event::Model{.model = 1,
                                                  .trial = kLucky,
                                                  .kind = ModelKind::kCrossValidated,
                                                  .state = ModelState::kComplete,
                                                  .first = 1,
                                                  .metrics = {{"value", -12}}}};
  auto ledger = Ledger::open(storage()).value();
  ASSERT_TRUE(ledger->append(1, choice));
  EXPECT_EQ(json({"best", "s"})["trial"], kLucky);
}

TEST_F(BestCommand, OfAStudyThatMeasuresAgainWithSeveralObjectivesIsTheBestMeasured) {
  write_study(10, {minimize("other")}, "search: {repeats: 1}\n");
  EXPECT_EQ(json({"best", "s"})["trial"], kLucky);
}

TEST_F(BestCommand, ListsTheBestByThePosteriorWithItsNumbers) {
  write_study(60);
  const Json rows = json({"best", "s", "--by", "posterior", "--top", "5"});
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_LE(rows[i - 1]["posterior_mean"], rows[i]["posterior_mean"]);
  for (const char* format : {"csv", "table"}) {
    const Answer shown = run({"best", "s", "--by", "posterior", "--top", "5", "-f", format});
    EXPECT_NE(shown.out.find("posterior_mean"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("posterior_deviation"), std::string::npos) << shown.out;
  }
}

TEST_F(BestCommand, OfFewTrialsIsTheBestMeasured) {
  write_study(4);
  const Json best = json({"best", "s", "--by", "posterior"});
  EXPECT_EQ(best["trial"], kLucky);
  EXPECT_FALSE(best.contains("posterior_mean"));
}

TEST_F(BestCommand, OfSeveralObjectivesSaysWhatToDoInstead) {
  write_study(10, {minimize("other")});
  const Answer shown = run({"best", "s", "--by", "posterior"});
  ASSERT_FALSE(shown.code);
  EXPECT_EQ(shown.code.error().code, ErrorCode::kUsage);
  EXPECT_NE(shown.code.error().message.find("`detol pareto s`"), std::string::npos);
  EXPECT_FALSE(run({"best", "s", "--by", "luck"}).code);
}

}  // namespace
}  // namespace detol
