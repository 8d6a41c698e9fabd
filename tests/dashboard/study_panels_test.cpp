#include "dashboard/study_panels.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "studies/labels.h"
#include "tests/support/temp_folder.h"

namespace detol::dashboard {
namespace {

using Json = nlohmann::json;

// A study of a formula with a trial that nobody runs.
class StudyPanelsOf : public testing::Test {
 protected:
  void SetUp() override {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = config.objectives;
    event::Asked asked;
    asked.params = config.space.at(std::vector<double>{0.1, 0.5}).assignments();
    event::Reported reported;
    reported.epoch = 1;
    reported.metrics = {{"value", 0.25}};
    const std::vector<Event> events = {asked, event::Started{0, 1, "w"}, reported,
                                       event::Told{.trial = 0, .outcome = Measured{{0.25}}}};
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }
  std::string storage() const { return (folder_.path() / "detol.db").string(); }

  testing_support::TempFolder folder_;
  std::unique_ptr<Panels> panels_ = study_panels(storage());
};

TEST_F(StudyPanelsOf, ListTheStudiesWithTheirBest) {
  const Json all = Json::parse(panels_->studies().value());
  EXPECT_EQ(all["of"], 1);
  EXPECT_EQ(all["studies"][0]["name"], "s");
  EXPECT_EQ(all["studies"][0]["state"], "KILLED");
  EXPECT_EQ(all["studies"][0]["is_run"], false);
  EXPECT_EQ(all["studies"][0]["best"], 0.25);
}

TEST_F(StudyPanelsOf, HaveThePanelsAndTheTrialsOfOne) {
  EXPECT_TRUE(Json::parse(panels_->model("s").value())["model"].is_object());
  EXPECT_EQ(Json::parse(panels_->trials("s", {}).value())["of"], 1);
  EXPECT_EQ(panels_->model("t").error().code, ErrorCode::kStudy);
  EXPECT_EQ(panels_->model("").error().code, ErrorCode::kUsage);
}

TEST_F(StudyPanelsOf, WriteNotesAndAskWhoeverRunsAStudy) {
  ASSERT_TRUE(panels_->act({Action::kNote, "s", 0, "good", {}}));
  const OpenStudy study = open_study(storage(), "s").value();
  EXPECT_EQ(read_labels(*study.reader, study.record).value().at(TrialId{0}).note, "good");
  EXPECT_FALSE(panels_->act({Action::kNote, "s", 7, "no", {}}));
  EXPECT_EQ(panels_->act({Action::kStop, "s", {}, {}, {}}).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace detol::dashboard
