#pragma once

// NoisyStudy is a fixture with a study of a noisy bowl; its trial kLucky is poor and was measured
// far too well.

#include <cmath>

#include "core/rng.h"
#include "tests/studies/study_base.h"

namespace detol::testing_support {

class NoisyStudy : public StudyBase {
 protected:
  static constexpr TrialId kLucky = 3;

  void write_study(TrialId trials, const std::vector<Objective>& more = {},
                   const std::string& search = "") const {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere, noise: 5}\n" + search,
                          "s.yaml")
            .value();
    const StudyId study = begin(config, {.more = more});
    const auto ledger = Ledger::open(storage()).value();
    for (TrialId id = 0; id < trials; ++id) {
      const Genome genome = genome_of_trial(config.space, id);
      Rng rng = Rng(6).split(id);
      const double value = id == kLucky ? -12 : true_value(genome) + 5 * rng.normal();
      append_trial(*ledger, study, id, genome, {{"value", value}, {"other", 1.0}});
    }
  }

  static double true_value(const Genome& genome) {
    return std::pow(genome.number("x0"), 2) + std::pow(genome.number("x1"), 2);
  }

  // Records a final choice of the lucky trial.
  void choose_lucky() const {
    append(1, {event::Model{.model = 1,
                            .trial = kLucky,
                            .kind = ModelKind::kCrossValidated,
                            .state = ModelState::kComplete,
                            .first = 1,
                            .metrics = {{"value", -12}}}});
  }

 private:
  static Genome genome_of_trial(const Space& space, TrialId id) {
    if (id == kLucky) return space.at(std::vector<double>{0.8, 0.8});  // 3, 3
    Rng rng = Rng(5).split(id);
    return space.sample(rng);
  }
};

}  // namespace detol::testing_support
