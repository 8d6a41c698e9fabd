#pragma once

// CnnStudy is a fixture with studies of configs/cnn.yaml whose accuracy depends on the optimizer.

#include "core/rng.h"
#include "tests/studies/study_base.h"

namespace detol::testing_support {

class CnnStudy : public StudyBase {
 protected:
  // Writes a study; its accuracies have a bonus.
  void write_study(const std::string& name, TrialId trials, double bonus = 0,
                   const std::string& metric = "val_accuracy") const {
    StudyConfig config = read_study_config(DETOL_SOURCE_DIR "/configs/cnn.yaml").value();
    config.study = name;
    config.objectives = {maximize(metric)};
    const StudyId study = begin(config);
    const auto ledger = Ledger::open(storage()).value();
    for (TrialId id = 0; id < trials; ++id) {
      Rng rng = Rng(1).split(id);
      const Genome genome = config.space.sample(rng);
      const double accuracy = (genome.text("optimizer") == "sgd" ? 0.6 : 0.5) + bonus +
                              0.001 * static_cast<double>(id % 7);
      append_trial(*ledger, study, id, genome, {{metric, accuracy}, {"val_loss", 1 - accuracy}});
    }
  }
};

}  // namespace detol::testing_support
