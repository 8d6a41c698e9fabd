#pragma once

// StudyBase is a fixture with a knowledge base of its own, into which a test writes studies.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "studies/open_study.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

// NewStudy: what a study's record has beside its space file.
struct NewStudy {
  std::string budget = "100trials";
  std::vector<Objective> more = {};  // objectives
  std::uint64_t data_fingerprint = 0;
  double created_s = 0;
};

class StudyBase : public testing::Test {
 protected:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::string storage() const { return (folder() / "detol.db").string(); }

  // Opens a study, the newest if it is not named.
  OpenStudy opened(const std::string& name = "") const {
    return open_study(storage(), name).value();
  }

  StudyId begin(const StudyConfig& config, const NewStudy& study = {}) const {
    StudyRecord record;
    record.name = config.study;
    record.config = config.text;
    record.budget = study.budget;
    record.data_fingerprint = study.data_fingerprint;
    record.objectives = config.objectives;
    record.objectives.insert(record.objectives.end(), study.more.begin(), study.more.end());
    record.created_s = study.created_s;
    return Ledger::open(storage()).value()->create_study(record).value();
  }
  StudyId begin(const std::string& space) const {
    return begin(load_study_config(space, "s.yaml").value());
  }

  void append(StudyId study, const std::vector<Event>& events) const {
    ASSERT_TRUE(Ledger::open(storage()).value()->append(study, events));
  }

  static event::Asked asked_for(TrialId id, const Genome& genome) {
    event::Asked asked;
    asked.trial = id;
    asked.params = genome.assignments();
    return asked;
  }

  // Appends a trial of one epoch with these metrics, of which the first is the objective.
  static void append_trial(Ledger& ledger, StudyId study, TrialId id, const Genome& genome,
                           const std::vector<std::pair<std::string, double>>& metrics,
                           TrialState state = TrialState::kComplete) {
    const event::Reported reported{.trial = id, .epoch = 1, .metrics = metrics};
    event::Told told;
    told.trial = id;
    told.state = state;
    told.outcome = Measured{.values = {metrics.front().second}};
    if (state == TrialState::kFail) told.outcome = Failed{.cause = Cause::kCrashed};
    const std::vector<Event> events = {asked_for(id, genome), event::Started{id, 1, "w"}, reported,
                                       told};
    ASSERT_TRUE(ledger.append(study, events));
  }

 private:
  TempFolder folder_{memory_folder()};
};

}  // namespace detol::testing_support
