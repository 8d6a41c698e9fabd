#include "models/trained_model.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/models/tiny_trial.h"

namespace detol {
namespace {

class TrainedModel : public testing_support::TinyTrial {
 protected:
  Result<Model> model() const {
    const OpenStudy study = opened("tiny");
    return trained_model(study, load_study_data(study).value(), storage(),
                         trial_numbered(study, 0).value());
  }
  void expect_refused(std::string_view why) const {
    const Result<Model> refused = model();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kExport);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find(trial_folder().string()), std::string::npos);
    EXPECT_NE(refused.error().message.find("detol best tiny"), std::string::npos);
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  }
};

TEST_F(TrainedModel, HasTheWeightsOfTheReportedEpochAlsoIfNewerOnesAreThere) {
  save(checkpoint_of(1));
  save(checkpoint_of(2));
  const Result<Model> found = model();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->weights.size(), weights_of(1).size());
  for (std::size_t i = 0; i < found->weights.size(); ++i)
    EXPECT_EQ(found->weights[i].data, weights_of(1)[i].data);
  EXPECT_EQ(found->properties.at("epoch"), "1");
  EXPECT_EQ(found->metrics[0].value, metrics(1)[0].value);
}

TEST_F(TrainedModel, IsRefusedIfItsWeightsAreGone) {
  save(checkpoint_of(2));
  save(checkpoint_of(3));
  expect_refused("no checkpoint of epoch 1");
}

TEST_F(TrainedModel, IsRefusedIfItsWeightsAreDamagedNamingTheFile) {
  save(checkpoint_of(1));
  const std::filesystem::path file = *std::filesystem::directory_iterator(trial_folder());
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(500).put('\x7f');
  expect_refused(file.filename().string());
}

TEST_F(TrainedModel, IsRefusedIfItsCheckpointReportedOtherMetrics) {
  Checkpoint checkpoint = checkpoint_of(1);
  checkpoint.history.back().metrics[1].value += 1e-12;
  save(checkpoint);
  expect_refused("val_loss");
}

TEST_F(TrainedModel, IsRefusedIfItsCheckpointIsAnotherNetworks) {
  Checkpoint checkpoint = checkpoint_of(1);
  checkpoint.arch_hash ^= 1;
  save(checkpoint);
  expect_refused("another network's");
}

TEST_F(TrainedModel, IsRefusedIfItsCheckpointIsAnotherTrials) {
  Checkpoint checkpoint = checkpoint_of(1);
  checkpoint.trial = 3;
  save(checkpoint);
  expect_refused("trial 3's");
}

TEST_F(TrainedModel, IsRefusedIfItWasNeverTrained) {
  event::Asked asked;
  asked.trial = 1;
  append(1, {asked});
  const OpenStudy study = opened("tiny");
  const auto refused = trained_model(study, load_study_data(study).value(), storage(),
                                     trial_numbered(study, 1).value());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEmpty);
}

// The trial of another study whose training a trial took over is named by its checkpoint.
TEST_F(TrainedModel, MayBeThatOfTheTrialWhoseOutcomeItTook) {
  Checkpoint checkpoint = checkpoint_of(1);
  checkpoint.trial = 3;
  save(checkpoint);
  append(1, {event::Told{.reason = {EndCause::kSameTrial, "other", 3},
                         .outcome = Measured{.values = {0.2}}}});
  EXPECT_TRUE(model());
}

TEST_F(TrainedModel, SaysWhichTrialAndWhichDataItIsOf) {
  save(checkpoint_of(1));
  const Model found = model().value();
  EXPECT_EQ(found.properties.at("study"), "tiny");
  EXPECT_EQ(found.properties.at("trial"), "0");
  EXPECT_EQ(found.properties.at("data"), (folder() / "data").string());
  EXPECT_EQ(found.task, TaskKind::kClassification);
  EXPECT_TRUE(found.reads_pixels);
  ASSERT_TRUE(found.check);
  EXPECT_EQ(found.check->logits.size(), static_cast<std::size_t>(found.check->count) * 4);
}

TEST_F(TrainedModel, NeedsTheDataThatItWasTrainedOn) {
  testing_support::write_idx(folder() / "data", {.seed = 2});
  const auto changed = load_study_data(opened("tiny"));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kExport);
  begin("version: 1\nstudy: s\nfunction: {name: sphere}\n");
  EXPECT_EQ(load_study_data(opened("s")).error().code, ErrorCode::kEmpty) << "it has no networks";
}

TEST_F(TrainedModel, IsDescribedWithoutTheDataByWhatTheStudyWroteOfThem) {
  const OpenStudy study = opened("tiny");
  EXPECT_TRUE(describe_study_data(study, storage())->data) << "nothing is written: they are read";
  Preprocessing written = load_study_data(study)->preprocessing;
  const std::filesystem::path file = folder() / "detol.db.d" / "tiny" / kPreprocessingFile;
  std::filesystem::create_directories(file.parent_path());
  ASSERT_TRUE(write_preprocessing(file, written));
  const StudyData described = describe_study_data(study, storage()).value();
  EXPECT_FALSE(described.data);
  EXPECT_EQ(described.preprocessing.fingerprint, study.record.data_fingerprint);
  ++written.fingerprint;
  std::filesystem::remove(file);  // which is written once
  ASSERT_TRUE(write_preprocessing(file, written));
  EXPECT_TRUE(describe_study_data(study, storage())->data) << "that is of other data";
}

}  // namespace
}  // namespace detol
