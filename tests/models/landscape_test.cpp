// The loss around the weights of a trial that is trained once more.

#include "models/landscape.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "scheduler/trial_seed.h"
#include "tests/models/linear_study.h"
#include "trainer/trainer.h"

namespace detol {
namespace {

class Landscape : public testing_support::LinearStudy {
 protected:
  Result<TrainedAgain> again(TrialId id) const {
    return train_again(opened("lin"), data(), trial(id), "cpu", folder() / "again");
  }
  void expect_refused(TrialId id, std::string_view why) const {
    const auto refused = again(id);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kEmpty);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }

  // Trains trial 0 as a search does, and records what it reports plus `error`.
  void train(double error) {
    config_ = load_study_config(space(), "lin.yaml").value();
    const Dataset loaded = load_dataset(config_.data).value();
    info_ = loaded.info;
    const StudyId study = begin(config_, {.data_fingerprint = info_.fingerprint});
    std::vector<Event> events = {asked_for(0, genome_of(0)), event::Started{.worker = "w"}};
    Control control;
    const Job job{.seed = trial_seed(config_.seed, 0),
                  .candidate = candidate(0),
                  .folder = folder() / "search"};
    const auto trainer = make_trainer_on(loaded, {.backend = "cpu"}).value();
    const auto report = [&](const EpochReport& epoch, bool) {
      event::Reported reported{.epoch = epoch.epoch, .metrics = {}};
      for (const Metric& metric : epoch.metrics)
        reported.metrics.emplace_back(metric.name, metric.value + error);
      events.emplace_back(reported);
      return Verdict::kContinue;
    };
    ASSERT_TRUE(trainer->evaluate(job, report, control));
    append(study, events);
  }
};

TEST_F(Landscape, IsOfATrainingThatPassesTheSameWeights) {
  train(0);
  const TrainedAgain trained = again(0).value();
  EXPECT_TRUE(trained.repeats);
  EXPECT_EQ(trained.epochs, (std::vector<int>{0, 1, 2, 3}));
  ASSERT_EQ(trained.path.size(), 4u);
  EXPECT_NE(trained.path[0][0].data, trained.path[3][0].data);
  EXPECT_TRUE(std::isnan(trained.losses[0]));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isfinite(trained.losses[i]));
  EXPECT_FALSE(std::filesystem::exists(folder() / "again"));
}

TEST_F(Landscape, SaysWhereATrainingCameOutOtherwise) {
  train(1e-9);
  EXPECT_FALSE(again(0)->repeats);
}

TEST_F(Landscape, HasTheLossOfTheTrainedWeightsInItsMiddle) {
  train(0);
  const TrainedAgain trained = again(0).value();
  const auto found =
      measure_landscape(trained, data(), {.points = 5, .images = 512, .backend = "cpu"}).value();
  EXPECT_EQ(found["epochs"], 3);
  EXPECT_EQ(found["images"], 5) << "of the validation part";
  EXPECT_EQ(found["repeats"], true);
  ASSERT_EQ(found["random"]["x"].size(), 5u);
  EXPECT_EQ(found["random"]["x"][0], -1.0);
  EXPECT_EQ(found["random"]["x"][4], 1.0);
  EXPECT_NEAR(found["random"]["loss"][2][2].get<double>(), found["loss"].get<double>(), 1e-6);
  const auto& path = found["path"];
  EXPECT_EQ(path["points"]["epoch"], (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(path["points"]["loss"][0].is_null());
  const double low = path["x"].front(), high = path["x"].back();
  for (const double x : path["points"]["x"]) {
    EXPECT_LT(low, x);
    EXPECT_LT(x, high);
  }
}

TEST_F(Landscape, IsOfTheFirstImagesOfTheValidationPart) {
  train(0);
  const auto found =
      measure_landscape(again(0).value(), data(), {.points = 3, .images = 2, .backend = "cpu"});
  EXPECT_EQ((*found)["images"], 2);
}

TEST_F(Landscape, IsOfNoTrialWhoseTrainingCannotBeRepeated) {
  write_study({{}, {}, {}, {}});
  append(1, {event::Told{
                .trial = 1, .reason = EndCause::kSameTrial, .outcome = Measured{.values = {0.5}}}});
  expect_refused(1, "was not trained: same as trial 0");
  event::Asked heir = asked_for(5, genome_of(5));
  heir.inherits = ParentWeights{.trial = 2};
  append(1, {asked_for(4, genome_of(4)), event::Started{4, 1, "w"},
             event::Reported{.trial = 4, .metrics = {{"val_accuracy", 0.5}}, .part = 0.5}, heir,
             event::Started{5, 1, "w"},
             event::Reported{.trial = 5, .epoch = 1, .metrics = {{"val_accuracy", 0.5}}}});
  expect_refused(4, "was not trained for a whole epoch");
  expect_refused(5, "began with the weights of trial 2");
}

TEST(LandscapeFolder, IsOneOfTheStudy) {
  EXPECT_EQ(landscape_folder("base.d/s"), "base.d/s/landscapes");
}

}  // namespace
}  // namespace detol
