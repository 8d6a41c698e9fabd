#pragma once

// StudyMonitor: follows the events of a study and returns at any moment what a user should see of
// it. The live view of a search and `detol status --watch` both draw its views. Not thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "scheduler/monitor/view.h"
#include "scheduler/observer.h"

namespace detol::inline scheduler {

// Counts the trials by state.
ViewCounts counts_of(const StudyState& state);

class StudyMonitor {
 public:
  struct Study {
    std::string name;
    std::vector<Objective> objectives;
    int max_epochs = 1;
    Budget budget;
    double sharing = 1;  // workers that share a device, on average
    int repeats = 0;     // further measurements of a candidate; then values do not say the best
  };

  StudyMonitor(Study study, Clock& clock);

  const std::string& name() const { return study_.name; }

  // Takes an event from the past, in the ledger's order. The time of a report is estimated from the
  // time that its training took.
  void recall(const Event& event) { take(event, false); }

  // Takes an event that happens now.
  void happened(const Event& event) { take(event, true); }

  // Returns what to show now. The time left is estimated from the pace since the first call, and
  // from that of the last third of this time.
  // REQUIRES: `state` has seen the same events.
  View view(const StudyState& state, const Standing& standing);

  // Returns how much of the budget is used by now. An unfinished trial counts by its share of
  // epochs, so that a budget in trials fills evenly.
  std::vector<Meter> used(const StudyState& state, Spent spent) const;

  // Returns whether the time left can be estimated: of a budget in trials not before a few have
  // ended, as those that a pruner stops take a small part of the time of the others.
  bool may_foresee_end(const StudyState& state) const;

  // Returns the best trial and the utilization of the devices, for the end of a run.
  std::string summary(const StudyState& state) const;
  // Returns a sentence that names the command to use next.
  std::string hint() const;

 private:
  // Track holds what StudyState does not keep of a trial.
  struct Track {
    std::string worker;
    std::vector<double> curve;
    int group_size = 1;
    double started_s = 0;  // on clock_; negative if before the clock's zero
    double heard_s = 0;    // time of the last report, or of the start
  };

  void take(const Event& event, bool is_now);
  void on(const event::Asked& asked, bool is_now);
  void on(const event::Started& started, bool is_now);
  void on(const event::Reported& reported, bool is_now);
  void on(const event::StudyState& changed, bool is_now);
  template <typename Other>
  void on(const Other&, bool) {}

  double moment(double wall_s) const;  // converts a wall time to clock_, which never jumps
  Track& track(TrialId trial);
  const Track& seen(TrialId trial) const;  // empty if its start is not durable yet
  int full_length(const TrialRecord& record) const;
  std::vector<ViewTrial> running(const StudyState& state, double now_s) const;
  std::optional<ViewBest> best(const StudyState& state, double now_s) const;
  std::optional<ViewFront> front(const StudyState& state) const;
  double trained_s(const StudyState& state) const;
  double in_progress_s(const StudyState& state, double now_s) const;
  void describe(const Standing& standing, View& view) const;

  const Study study_;
  Budget budget_;
  Clock& clock_;
  const double wall_offset_s_;
  std::vector<Track> tracks_;        // by trial
  std::optional<StudyPhase> phase_;  // of the study
  bool has_network_ = false;         // that detol trains
  struct Moment {
    double now_s = 0;
    std::vector<Meter> meters;
  };
  void keep(const Moment& moment);
  // Returns the latest moment kept that is not after `now_s`.
  const Moment& moment_before(double now_s) const;
  std::vector<Moment> moments_;  // the first, and later ones at growing distances; oldest first
};

}  // namespace detol::inline scheduler
