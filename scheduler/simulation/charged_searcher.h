#pragma once

// ChargedSearcher: a searcher whose proposals take virtual time, by a table (ask_times.h): the
// master does nothing else meanwhile. It also measures how long they really take. A fit of a model
// runs beside the master and is charged nothing. Not thread-safe.

#include "core/clock.h"
#include "scheduler/simulation/ask_times.h"
#include "scheduler/simulation/virtual_clock.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

class ChargedSearcher final : public Searcher {
 public:
  // REQUIRES: searcher and clock outlive this.
  ChargedSearcher(Searcher& searcher, AskTimes times, VirtualClock& clock)
      : searcher_(searcher), times_(std::move(times)), clock_(clock) {}

  std::vector<Trial> ask(TrialId first_id, int count) override;
  void tell(const Trial& trial, const Outcome& outcome) override {
    ++told_;
    searcher_.tell(trial, outcome);
  }
  void expect(const Trial& trial) override { searcher_.expect(trial); }
  std::optional<RefitJob> background() override { return searcher_.background(); }
  void absorb(const Refit& refit) override { searcher_.absorb(refit); }
  double trust_in_sources() override { return searcher_.trust_in_sources(); }

  std::int64_t proposals() const { return proposals_; }
  double charged_s() const { return charged_s_; }  // of virtual time
  double real_s() const { return real_s_; }

 private:
  Searcher& searcher_;
  const AskTimes times_;
  VirtualClock& clock_;
  std::int64_t told_ = 0, proposals_ = 0;
  double charged_s_ = 0, real_s_ = 0;
};

}  // namespace detol::inline scheduler
