#pragma once

// Onlooker: follows a study event by event and says at any moment what a person should see of
// it: the search's own picture and `detol status --watch` are both its views. Not thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "scheduler/monitor/view.h"
#include "scheduler/observer.h"

namespace detol {

class Onlooker {
 public:
  struct Study {
    std::string name;
    std::vector<Objective> objectives;
    int max_epochs = 1;
    Budget budget;
    double sharing = 1;  // workers that hold a device together, on average
  };

  Onlooker(Study study, Clock& clock);

  const std::string& name() const { return study_.name; }

  // An event of before, in the ledger's order: a report's time is guessed from the time that
  // its training took.
  void recall(const Event& event) { take(event, false); }

  // An event of now.
  void happened(const Event& event) { take(event, true); }

  // `book` has seen the same events. The pace, and so the time that is left, is that since the
  // first call.
  View view(const Book& book, const Standing& standing);

  // How far the budget is used by now. A running trial counts as much as it is trained, so that
  // a budget in trials fills evenly.
  std::vector<Meter> used(const Book& book, Spent spent) const;

  // For the end of a run: the best trial and how busy the devices were; and what to do now.
  std::string summary(const Book& book) const;
  std::string hint() const;

 private:
  // What a book does not keep of a trial.
  struct Track {
    std::string worker;
    std::vector<double> curve;
    int group_size = 1;
    double started_s = 0;  // on the clock; may be before its start
    double heard_s = 0;    // of the last report, or the start
  };

  void take(const Event& event, bool is_now);
  void on(const event::Asked& asked, bool is_now);
  void on(const event::Started& started, bool is_now);
  void on(const event::Reported& reported, bool is_now);
  void on(const event::StudyState& state, bool is_now);
  template <typename Other>
  void on(const Other&, bool) {}

  double moment(double wall_s) const;  // a wall time on the clock that never jumps
  Track& track(TrialId trial);
  const Track& seen(TrialId trial) const;  // empty if its start is not durable yet
  int full_length(const TrialEntry& entry) const;
  std::vector<ViewTrial> running(const Book& book, double now_s) const;
  std::optional<ViewBest> best(const Book& book, double now_s) const;
  double trained_s(const Book& book) const;
  double in_progress_s(const Book& book, double now_s) const;
  void describe(const Standing& standing, View& view) const;

  const Study study_;
  Budget budget_;
  Clock& clock_;
  const double wall_offset_s_;
  std::vector<Track> tracks_;        // by trial
  std::optional<StudyPhase> state_;  // of the study
  bool has_network_ = false;
  struct Moment {
    double now_s = 0;
    std::vector<Meter> meters;
  };
  std::optional<Moment> first_;
};

}  // namespace detol
