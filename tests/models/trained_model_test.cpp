#include "models/trained_model.h"

#include <fstream>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "knowledge/ledger.h"
#include "tests/e2e/tiny_study.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

// A study whose only trial has reported its first epoch, and no other.
class TrainedModel : public testing::Test {
 protected:
  void SetUp() override {
    testing_support::write_idx(folder_.path() / "data");
    testing_support::write_bytes(folder_.path() / "tiny.yaml", testing_support::kTinySpace);
    config_ = read_study_config((folder_.path() / "tiny.yaml").string()).value();
    config_ =
        load_study_config(config_.text, "tiny", {{"data.path", (folder_.path() / "data").string()}})
            .value();
    const Dataset data = load_dataset(config_.data).value();
    Rng rng(1);
    const Genome genome = config_.space.sample(rng);
    candidate_ = config_.candidate(genome, data.info.task).value();

    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "tiny";
    record.config = config_.text;
    record.objectives = config_.objectives;
    record.data_fingerprint = data.info.fingerprint;
    event::Asked asked;
    asked.params = genome.assignments();
    event::Reported reported;
    reported.epoch = 1;
    for (const Metric& metric : metrics(1))
      reported.metrics.emplace_back(metric.name, metric.value);
    const std::vector<Event> events = {asked, event::Started{}, reported};
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }

  static std::vector<Metric> metrics(int epoch) {
    return {{"val_accuracy", 0.1 + 0.1 * epoch}, {"val_loss", 1.0 / 3}};
  }
  Weights weights_of(int epoch) const {
    return initial_weights(candidate_.network, static_cast<std::uint64_t>(epoch));
  }
  Checkpoint checkpoint_of(int epoch) const {
    Checkpoint checkpoint;
    checkpoint.arch_hash = candidate_.arch_hash;
    checkpoint.epoch = epoch;
    checkpoint.history = {{.epoch = epoch, .metrics = metrics(epoch)}};
    checkpoint.state.weights = weights_of(epoch);
    return checkpoint;
  }
  void save(const Checkpoint& checkpoint) const {
    ASSERT_TRUE(write_checkpoint(trial_folder(), checkpoint));
  }

  std::filesystem::path storage() const { return folder_.path() / "detol.db"; }
  std::filesystem::path trial_folder() const {
    return folder_.path() / "detol.db.d" / "tiny" / "0";
  }

  Result<Model> model() const {
    const OpenStudy study = open_study(storage().string(), "tiny").value();
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

  testing_support::TempFolder folder_;
  StudyConfig config_;
  Candidate candidate_;
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

}  // namespace
}  // namespace detol
