#pragma once

// LiveStudy: the panels of a study while it is searched, as JSON. It keeps what it has read, and
// reads what is new. Not thread-safe.

#include <string>

#include "report/live_trials.h"
#include "studies/open_study.h"

namespace detol::inline report {

// LiveModel: the numbers of all panels (report/report.h), when the study had `last` events. They
// may be of the past, as making them for a large study takes a while; then new ones are to be had
// in `again_s` seconds, else that is 0.
struct LiveModel {
  std::string json;
  std::int64_t last = 0;
  double again_s = 0;
};

class LiveStudy {
 public:
  LiveStudy(std::string storage, StudyId id) : storage_(std::move(storage)), id_(id) {}

  StudyId id() const { return id_; }
  std::size_t trials() const { return trials_.size(); }

  // Errors (kStudy, kStorage).
  Result<LiveModel> model(const OpenStudy& study);

  // Returns a page of the table of trials: {"of", "matching", "last", "size", "trials": columns}.
  // Errors (kStorage).
  Result<std::string> table(const OpenStudy& study, const TrialQuery& query);

  // Makes the next model anew: a note was changed.
  void forget_model() { made_.json.clear(); }

 private:
  Result<void> read_new(const OpenStudy& study);
  Result<ReportSource> source_of(const OpenStudy& study);
  Result<std::string> make_model(const OpenStudy& study);

  const std::string storage_;
  const StudyId id_;
  LiveTrials trials_;
  std::int64_t last_ = 0;  // the number of the last event in trials_
  LiveModel made_;
  double made_s_ = 0, cost_s_ = 0;  // when, on the monotonic clock, and how long it took
  // What is made anew only if the trials that it is of are others.
  std::vector<TrialId> measured_, pictured_;
  ReportSource analyses_;
};

// Returns such a page of the trials by their numbers, which needs no other trial to be read.
// REQUIRES: query.sort is trial, and query.words is empty.
Result<std::string> trials_by_number(const OpenStudy& study, const TrialQuery& query);

}  // namespace detol::inline report
