#pragma once

// A study that a test writes into a database trial by trial, and the source of its report.

#include <memory>
#include <string>
#include <vector>

#include "report/report.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

// The time at which written studies begin, seconds since 1970.
inline constexpr double kBegin = 1'700'000'000;

// WrittenTrial: what a worker did with a trial. Times are seconds since the study began.
struct WrittenTrial {
  std::vector<double> curve;  // the first metric after each epoch; empty: it reports nothing
  double from_s = 0, until_s = 1;
  double epoch_s = 1;  // device seconds of each epoch
  TrialState state = TrialState::kComplete;
  EndReason reason = {};
  std::string proposer = "random";
  std::string worker = "local/0";
  double second = 0;  // the second objective, where there is one
};

class WrittenStudy {
 public:
  explicit WrittenStudy(std::vector<Objective> objectives = {minimize("value")},
                        std::string budget = "10trials");

  void add(const WrittenTrial& trial) { add_all({trial}); }
  void add_all(const std::vector<WrittenTrial>& trials);  // in one transaction
  void append(const std::vector<Event>& events);
  void note(LabelTarget target, const std::string& text);

  // Returns the source as `detol report` reads it, without importance and networks.
  ReportSource source() const;

  std::unique_ptr<Reader> reader() const;
  StudyId id() const { return id_; }

  // Returns the model of its report.
  nlohmann::ordered_json model() const;

 private:
  void add_to(std::vector<Event>& events, const WrittenTrial& trial);

  TempFolder folder_;
  StudyRecord record_;
  std::unique_ptr<Ledger> ledger_;
  StudyId id_ = 0;
  TrialId next_ = 0;
};

}  // namespace detol::testing_support
