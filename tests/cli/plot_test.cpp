// The points that `plot` draws.

#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

constexpr double kBeganS = 7200;

// Three trials that were told 1, 3 and 2 hours after the beginning, and took 30 minutes each.
class Plot : public testing_support::CommandOnBase {
 protected:
  void SetUp() override {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = {maximize("value")};
    record.created_s = kBeganS;
    const StudyId study = ledger->create_study(record).value();
    const double values[] = {0.5, 0.25, 0.75}, hours[] = {1, 3, 2};
    for (TrialId id = 0; id < 3; ++id) {
      event::Asked asked;
      asked.trial = id;
      asked.params = config.space.at(std::vector<double>{0.1 * double(id), 0.5}).assignments();
      event::Reported reported;
      reported.trial = id;
      reported.epoch = 1;
      reported.metrics = {{"value", values[id]}};
      reported.train_s = 1800;
      const double end_s = kBeganS + 3600 * hours[id];
      ASSERT_TRUE(ledger->append(
          study, std::vector<Event>{asked, event::Started{id, 1, "w", end_s - 1800}, reported,
                                    event::Told{.trial = id,
                                                .outcome = Measured{.values = {values[id]}},
                                                .at_s = end_s}}));
    }
  }

  // Returns the points of a series.
  std::vector<std::pair<double, double>> points(const std::string& against,
                                                const std::string& series) const {
    std::vector<std::pair<double, double>> found;
    for (const Json& row : json({"plot", "s", "--against", against})) {
      if (row["series"] == series) found.emplace_back(row["x"], row["y"]);
    }
    return found;
  }
};

using Points = std::vector<std::pair<double, double>>;

TEST_F(Plot, ShowsEachValueAndTheBestSoFar) {
  EXPECT_EQ(points("trial", "trials"), (Points{{0, 0.5}, {1, 0.25}, {2, 0.75}}));
  EXPECT_EQ(points("trial", "best so far"), (Points{{0, 0.5}, {1, 0.5}, {2, 0.75}}));
}

TEST_F(Plot, AgainstHoursShowsTrialsAsTheyEnded) {
  EXPECT_EQ(points("time", "trials"), (Points{{1, 0.5}, {2, 0.75}, {3, 0.25}}));
  EXPECT_EQ(points("device-time", "best so far"), (Points{{0.5, 0.5}, {1, 0.75}, {1.5, 0.75}}));
}

}  // namespace
}  // namespace detol
