#pragma once

// DriverObjects is a fixture for the small objects of a driver: the parts of a fake study, and a
// state that a test makes of events.

#include <gtest/gtest.h>

#include "scheduler/running_trials.h"
#include "tests/scheduler/fake_study.h"

namespace detol::testing_support {

class DriverObjects : public testing::Test {
 protected:
  // Makes the parts and the state of what the test has set in `study`.
  DriverParts& parts() {
    if (!parts_) {
      parts_.emplace(study.parts());
      state_.emplace(study.config.space, study.config.objectives);
    }
    return *parts_;
  }
  const StudyState& state() {
    parts();
    return *state_;
  }

  void apply(const Event& event) {
    parts();
    const auto applied = state_->apply(event);
    ASSERT_TRUE(applied) << applied.error().message;
  }

  Genome genome(double x) const { return study.config.space.at(std::vector<double>{x}); }

  // Trials with the same x are equal.
  void ask(TrialId trial, std::optional<double> x = {}, const std::string& proposer = "tpe") {
    event::Asked asked;
    asked.trial = trial;
    asked.params = genome(x.value_or(0.01 * static_cast<double>(trial))).assignments();
    asked.proposer = proposer;
    apply(asked);
  }
  void start(TrialId trial, const std::string& worker = "fake") {
    apply(event::Started{.trial = trial, .worker = worker});
  }
  void begin(TrialId trial, std::optional<double> x = {}) {
    ask(trial, x);
    start(trial);
  }
  // Of `work` in all so far, of which the last epoch took `train_s`.
  static event::Reported report(TrialId trial, int epoch, double work, double train_s) {
    return {.trial = trial,
            .epoch = epoch,
            .metrics = {{"loss", 1.0}},
            .work = work,
            .train_s = train_s};
  }
  void end(TrialId trial, const EndReason& reason = {}) {
    apply(event::Told{.trial = trial, .reason = reason, .outcome = Measured{.values = {1.0}}});
  }
  void fail_trial(TrialId trial, Cause cause) {
    apply(event::Told{.trial = trial,
                      .state = TrialState::kFail,
                      .reason = {EndCause::kFailure, "it broke"},
                      .outcome = Failed{.cause = cause}});
  }

  FakeStudy study;

 private:
  std::optional<DriverParts> parts_;
  std::optional<StudyState> state_;
};

}  // namespace detol::testing_support
