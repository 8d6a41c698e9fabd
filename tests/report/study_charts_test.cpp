#include "report/gathering/study_charts.h"

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// Three trials that ended an hour after the other and took half an hour each; of one a value is
// missing, and another has not ended.
class StudyCharts : public testing::Test {
 protected:
  void write(const std::vector<Objective>& objectives) const {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = objectives;
    record.created_s = 3600;
    const StudyId study = ledger->create_study(record).value();
    const double a[] = {3, 1, 2}, b[] = {1, 3, 4};
    for (TrialId id = 0; id < 4; ++id) {
      event::Asked asked;
      asked.trial = id;
      asked.params = config.space.at(std::vector<double>{0.1 * double(id), 0.5}).assignments();
      std::vector<Event> events = {asked};
      if (id < 3) {
        event::Reported reported;
        reported.trial = id;
        reported.epoch = 1;
        reported.metrics = {{"a", a[id]}, {"b", b[id]}};
        reported.train_s = 1800;
        events.insert(events.end(), {event::Started{id, 1, "w", 3600.0 * double(id + 1)}, reported,
                                     event::Told{.trial = id,
                                                 .outcome = Measured{{a[id], b[id]}},
                                                 .at_s = 3600.0 * double(id + 2)}});
      }
      ASSERT_TRUE(ledger->append(study, events));
    }
  }
  std::string storage() const { return (folder_.path() / "detol.db").string(); }

  testing_support::TempFolder folder_;
};

using Numbers = std::vector<double>;

TEST_F(StudyCharts, AHistoryHasEachValueAndTheBestSoFar) {
  write({minimize("a"), minimize("b")});
  const OpenStudy study = open_study(storage(), "s").value();
  const Chart chart = history_of(study, kAgainst[0]).value();
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].x, (Numbers{0, 1, 2}));
  EXPECT_EQ(chart.series[0].y, (Numbers{3, 1, 2}));
  EXPECT_EQ(chart.series[1].y, (Numbers{3, 1, 1}));
  EXPECT_EQ(chart.title, "s: optimisation history (minimize a)");
  EXPECT_EQ(history_of(study, kAgainst[1])->series[0].x, (Numbers{1, 2, 3}));
  EXPECT_EQ(history_of(study, kAgainst[2])->series[0].x, (Numbers{0.5, 1, 1.5}));
}

TEST_F(StudyCharts, AFrontIsALineFromTheLeftToTheRight) {
  write({minimize("a"), minimize("b")});
  const Chart chart = front_of(open_study(storage(), "s").value()).value();
  EXPECT_EQ(chart.x_label, "b");
  EXPECT_EQ(chart.series[0].y.size(), 3u);
  EXPECT_EQ(chart.series[1].x, (Numbers{1, 3}));
  EXPECT_EQ(chart.series[1].y, (Numbers{3, 1}));
  EXPECT_TRUE(chart.series[1].is_line);
}

}  // namespace
}  // namespace detol
