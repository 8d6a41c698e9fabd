#pragma once

// RunningStudy is a fixture with a study that this process runs: of ten trials of its budget four
// have begun. 0 is complete after 10 s, 1 failed before it reported, 2 runs, 3 waits for another
// worker, and 4 was proposed.

#include <memory>

#include "tests/studies/study_base.h"

namespace detol::testing_support {

class RunningStudy : public StudyBase {
 protected:
  void SetUp() override {
    const StudyConfig config =
        load_study_config("version: 1\nstudy: s\nfunction: {name: sphere}\n", "s.yaml").value();
    const StudyId study = begin(config, {.budget = "10trials"});
    ledger_ = Ledger::open(storage()).value();
    std::vector<Event> events;
    for (TrialId id = 0; id < 5; ++id) {
      event::Asked asked;
      asked.trial = id;
      asked.params = config.space.at(std::vector<double>{0.1 * double(id), 0.5}).assignments();
      events.emplace_back(asked);
      if (id < 4) events.emplace_back(event::Started{id, 1, "w" + std::to_string(id), 1000});
    }
    event::Reported reported;
    reported.epoch = 1;
    reported.metrics = {{"value", 0.5}};
    reported.train_s = 10;
    events.emplace_back(reported);
    events.emplace_back(event::Told{.trial = 0, .outcome = Measured{.values = {0.5}}});
    events.emplace_back(event::Told{
        .trial = 1, .state = TrialState::kFail, .outcome = Failed{.cause = Cause::kOutOfMemory}});
    events.emplace_back(
        event::Requeued{.trial = 3, .attempt = 1, .reason = {RequeueCause::kWorkerGone}});
    events.emplace_back(event::Accounted{.wall_s = 100, .device_s = 50});
    ASSERT_TRUE(ledger_->append(study, events));
  }

  std::unique_ptr<Ledger> ledger_;  // which runs the study
};

}  // namespace detol::testing_support
