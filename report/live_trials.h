#pragma once

// LiveTrials: the trials of a study that goes on, for panels that follow it. All trials are kept,
// each in about 400 bytes; the choices and the curves of those alone that are drawn one by one are
// asked for, so that 100,000 trials are a matter of 50 MB. Not thread-safe.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/source.h"
#include "report/trial_query.h"

namespace detol::inline report {

class LiveTrials {
 public:
  LiveTrials();
  ~LiveTrials();
  LiveTrials(LiveTrials&&) noexcept;

  // Takes trials that are new or have changed: rows of v_trials, ascending, and the rows of
  // attempts_of() for the same trials. REQUIRES: no trial before them is missing.
  void take(const Rows& trials, const Rows& attempts, const std::vector<Objective>& objectives);

  std::size_t size() const;

  // Returns the best scored trials, best first.
  std::vector<TrialId> best(const ReportSource& source, std::size_t most) const;

  // Returns trials that ended with a value, evenly over all, ascending.
  std::vector<TrialId> spread(std::size_t most) const;

  // Returns the trials that are drawn one by one, ascending: the best, the newest, those of the
  // Pareto set and others evenly; at most about 2,500.
  std::vector<TrialId> drawn(const ReportSource& source) const;

  // Returns the trials whose curves are drawn, ascending; at most about 200.
  std::vector<TrialId> with_curves(const ReportSource& source) const;

  // Returns the numbers of every panel (report.h) but those of `source`'s trials and events:
  // `source.events` are the state_events(). `drawn`: rows of v_trials; `curves`: rows of trial,
  // epoch and value.
  nlohmann::ordered_json model(const ReportSource& source, const Rows& drawn, const Rows& curves);

  // Returns the trials of a page of the table, and sets how many there are on all pages.
  std::vector<TrialId> page(const ReportSource& source, const TrialQuery& query,
                            std::size_t& matching) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the columns of the trials in the rows of v_trials, with their choices, in the order of
// `order`.
nlohmann::ordered_json trial_table(const ReportSource& source, const std::vector<TrialId>& order,
                                   const Rows& rows);

}  // namespace detol::inline report
