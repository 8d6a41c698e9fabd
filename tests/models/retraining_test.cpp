#include "models/retraining.h"

#include <bit>
#include <cmath>

#include "models/model_network.h"
#include "tests/models/linear_study.h"
#include "tests/support/in_child.h"

namespace detol {
namespace {

TEST(Retraining, TakesTheMicroBatchesOfTheTrialsLastAttempt) {
  const testing_support::TempFolder folder;
  const std::filesystem::path storage = folder.path() / "detol.db";
  {
    auto ledger = Ledger::open(storage).value();
    StudyRecord record;
    record.name = "tiny";
    record.objectives = {{.metric = "val_accuracy", .direction = Direction::kMaximize}};
    event::Asked asked, other;
    other.trial = 1;
    const std::vector<Event> events = {
        asked, other, event::Started{.worker = "w"},
        event::Requeued{.attempt = 1, .reason = {RequeueCause::kWorkerGone}},
        event::Started{.attempt = 2, .worker = "w", .micro_batches = 4}};
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }
  const OpenStudy study = open_study(storage.string(), "tiny").value();
  EXPECT_EQ(micro_batches_of(study, 0), 4);
  EXPECT_EQ(micro_batches_of(study, 1), 1);
}

class RetrainedLines : public testing_support::LinearStudy {
 protected:
  Retraining work(const OpenStudy& study) const {
    Retraining work{
        .study = study, .shared = data(), .candidate = candidate(0), .from = {}, .run = {}};
    work.run.storage = storage();
    work.run.workers = 1;
    return work;
  }
  ModelRecord record() const { return ModelRecord::open(storage(), "lin").value(); }

  // Trains in a child, and returns all models.
  std::vector<event::Model> train(const std::function<void(Retraining&)>& change = {}) const {
    testing_support::in_child([&] {
      const OpenStudy study = opened("lin");
      Retraining asked = work(study);
      if (change) change(asked);
      ModelRecord own = record();
      auto models = models_to_train(asked, own).value();
      const auto done = train_models(asked, own, models);
      EXPECT_TRUE(done) << done.error().message;
      EXPECT_TRUE(done.value_or(false));
    });
    return models_of(opened("lin")).value();
  }
  std::size_t checkpoints(const event::Model& model) const {
    const auto files = folder() / "detol.db.d" / "lin" / model.folder;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(files), {}));
  }
};

TEST_F(RetrainedLines, AreTestedAndKeepTheirLastCheckpoint) {
  write_study({{}});
  const auto models = train([](Retraining& asked) { asked.count = 2; });
  ASSERT_EQ(models.size(), 2u);
  for (const event::Model& model : models) {
    EXPECT_EQ(model.state, ModelState::kComplete);
    EXPECT_EQ(model.epochs, 3);
    EXPECT_TRUE(metric_of(model, "val_accuracy"));
    EXPECT_TRUE(metric_of(model, "test_accuracy"));
    EXPECT_EQ(checkpoints(model), 1u);
    EXPECT_TRUE(network_of(opened("lin"), data(), storage(), model));
  }
  const auto weights = [&](const event::Model& model) {
    const auto network = network_of(opened("lin"), data(), storage(), model).value();
    return best_weights(network.checkpoint)[0].data;
  };
  EXPECT_NE(weights(models[0]), weights(models[1])) << "each has a seed of its own";
}

TEST_F(RetrainedLines, StopBeforeTheEndOfTheScheduleWhereThatIsAsked) {
  write_study({{}});
  const auto models = train([](Retraining& asked) { asked.stops_after = 2; });
  EXPECT_EQ(models[0].epochs, 2);
  const auto network = network_of(opened("lin"), data(), storage(), models[0]).value();
  EXPECT_EQ(network.checkpoint.epoch, 2);
}

TEST_F(RetrainedLines, GoOnFromACheckpoint) {
  write_study({{.slope = 1000}});
  const auto models = train([&](Retraining& asked) {
    asked.candidate.recipe.epochs = 2;
    asked.from = trained_network(asked.study, asked.shared, storage(), trial(0))->checkpoint;
  });
  EXPECT_EQ(models[0].began_from, kFromCheckpoint);
  EXPECT_EQ(models[0].epochs, 2);
  const auto network = network_of(opened("lin"), data(), storage(), models[0]).value();
  EXPECT_GT(best_weights(network.checkpoint)[0].data[0], 900) << "from scratch it is about 1";
}

TEST_F(RetrainedLines, ThatDivergeAreRowsThatSayWhy) {
  write_study({{}});
  const auto models = train([&](Retraining& asked) {
    asked.from = trained_network(asked.study, asked.shared, storage(), trial(0))->checkpoint;
    asked.from->state.weights[0].data = {NAN};
  });
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].state, ModelState::kFailed);
  EXPECT_EQ(models[0].failure, "diverged");
  EXPECT_NE(models[0].reason, "");
  EXPECT_EQ(checkpoints(models[0]), 0u);
}

TEST_F(RetrainedLines, AreNumberedBehindAllOthersAndHaveSeedsOfTheirOwn) {
  write_study({{}});
  keep_line({}, ModelKind::kRetrained, kOnTraining);
  const OpenStudy study = opened("lin");
  ModelRecord own = record();
  Retraining asked = work(study);
  asked.count = 3;
  const auto models = models_to_train(asked, own).value();
  ASSERT_EQ(models.size(), 3u);
  std::set<std::int64_t> seeds;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(models[i].model, static_cast<std::int64_t>(i) + 2);
    EXPECT_EQ(models[i].first, 2);
    EXPECT_EQ(models[i].state, ModelState::kTraining);
    EXPECT_EQ(models[i].began_from, kFromScratch);
    EXPECT_EQ(models[i].folder, fmt::format("models/{}", i + 2));
    seeds.insert(models[i].seed);
  }
  EXPECT_EQ(seeds.size(), 3u);
  EXPECT_EQ(models_to_train(asked, own).value()[1].seed, models[1].seed) << "equal numbers, too";
}

TEST_F(RetrainedLines, AreThoseOfAnUnfinishedCommandThatAskedForTheSame) {
  write_study({{}, {}});
  const OpenStudy study = opened("lin");
  ModelRecord own = record();
  Retraining asked = work(study);
  asked.count = 2;
  auto begun = models_to_train(asked, own).value();
  begun[0].state = ModelState::kComplete;
  ASSERT_TRUE(own.save(begun));
  EXPECT_EQ(models_to_train(asked, own).value().front().model, 1) << "the second is not done";
  const auto first = [&](const std::function<void(Retraining&)>& change) {
    Retraining other = work(study);
    other.count = 2;
    change(other);
    return models_to_train(other, own).value().front().model;
  };
  EXPECT_EQ(first([](Retraining& other) { other.count = 3; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.trial = 1; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.stops_after = 2; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.trained_on = kOnValidationToo; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.kind = ModelKind::kPruned; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.settings = "{}"; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.parent = 1; }), 3);
  EXPECT_EQ(first([](Retraining& other) { other.from = Checkpoint(); }), 3);
  begun[1].state = ModelState::kFailed;
  ASSERT_TRUE(own.save({&begun[1], 1}));
  EXPECT_EQ(models_to_train(asked, own).value().front().model, 3) << "that command is done";
}

TEST_F(RetrainedLines, AreJobsOfTheirSeedsAndFolders) {
  write_study({{}});
  const OpenStudy study = opened("lin");
  Retraining asked = work(study);
  asked.micro_batches = 4;
  const event::Model model{.model = 5, .seed = -3, .folder = "models/5"};
  const Job job = job_of(asked, model);
  EXPECT_EQ(job.seed, std::bit_cast<std::uint64_t>(std::int64_t{-3}));
  EXPECT_EQ(job.folder, folder() / "detol.db.d/lin/models/5");
  EXPECT_EQ(job.micro_batches, 4);
}

TEST(ModelsAtATime, AreThoseAskedForElseOfTheStudyElseOnePerDevice) {
  RunOptions run;
  run.config.resources.workers = 3;
  run.workers = 2;
  EXPECT_EQ(models_at_a_time(run), 2);
  run.workers = 0;
  EXPECT_EQ(models_at_a_time(run), 3);
  run.config.resources.workers = 0;
  run.gpus.resize(4);
  EXPECT_EQ(models_at_a_time(run), 4);
  run.gpus.clear();
  EXPECT_GE(models_at_a_time(run), 1);
}

}  // namespace
}  // namespace detol
