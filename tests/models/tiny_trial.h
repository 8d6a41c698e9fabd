#pragma once

// TinyTrial is a fixture with a study of small images whose only trial has reported its first
// epoch, and no other.

#include <filesystem>
#include <vector>

#include "core/rng.h"
#include "tests/e2e/tiny_study.h"
#include "tests/studies/study_base.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"

namespace detol::testing_support {

class TinyTrial : public StudyBase {
 protected:
  void SetUp() override {
    write_idx(folder() / "data");
    config_ = load_study_config(kTinySpace, "tiny", {{"data.path", (folder() / "data").string()}})
                  .value();
    const Dataset data = load_dataset(config_.data).value();
    Rng rng(1);
    const Genome genome = config_.space.sample(rng);
    candidate_ = config_.candidate(genome, data.info.task).value();
    event::Asked asked;
    asked.params = genome.assignments();
    event::Reported reported;
    reported.epoch = 1;
    for (const Metric& metric : metrics(1))
      reported.metrics.emplace_back(metric.name, metric.value);
    append(begin(config_, {.data_fingerprint = data.info.fingerprint}),
           {asked, event::Started{}, reported});
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

  std::filesystem::path trial_folder() const { return folder() / "detol.db.d" / "tiny" / "0"; }

  StudyConfig config_;
  Candidate candidate_;
};

}  // namespace detol::testing_support
