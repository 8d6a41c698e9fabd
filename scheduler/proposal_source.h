#pragma once

// ProposalSource: what to try next. It gives the initial candidates of the study, then those of the
// searcher, or of a quick fallback where a worker has waited too long for that; and it keeps the
// searcher, and the fits of its model, up to date. Not thread-safe. Its destructor waits until a
// running fit ends.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/driver_parts.h"
#include "scheduler/proposals.h"
#include "scheduler/refitter.h"
#include "scheduler/study_state.h"
#include "scheduler/used_time.h"

namespace detol::inline scheduler {

class ProposalSource {
 public:
  // All outlive this object.
  ProposalSource(const DriverParts& parts, const StudyState& state, const UsedTime& used);

  // Tells the searcher what the state has taken.
  void expect(const event::Asked& asked);
  void tell(const event::Told& told);
  void absorb(const event::Refit& refit);

  // Returns a fit that has ended, to be recorded; begins one that is due. REQUIRES: the searcher is
  // not at work.
  std::optional<event::Refit> next_refit();
  bool is_refitting() const { return refitter_.is_at_work(); }

  // As the functions of Proposals.
  void collect() { proposals_.collect(); }
  bool is_at_work() const { return proposals_.is_at_work(); }
  bool is_dry() const { return proposals_.is_dry(); }
  std::vector<Proposal> take_ready() { return proposals_.take_ready(); }
  std::optional<double> seconds_left() const { return proposals_.seconds_left(); }

  // Notes since when each free worker waits for a proposal, and lets those with the least memory,
  // and of these those that have waited longest, be taken first: they are last.
  void note_waiting(std::vector<Slot>& slots);

  // Lets the last `count` workers wait anew.
  void wait_anew(const std::vector<Slot>& slots, std::size_t count);

  // Returns at most `count` proposals for these workers.
  std::vector<Proposal> propose(const std::vector<Slot>& slots, int count);

  // Forgets who waited, unless the searcher is late for them.
  void end_turn();

  // Asks ahead of the next free worker where that pays, for at most `most` proposals.
  void prepare(int most);

  // Returns who proposed the trial, for the ledger.
  std::string proposer_of(const Trial& trial) const;

 private:
  Demand demand_of(const std::vector<Slot>& slots, int wanted) const;

  const DriverParts& parts_;
  const StudyState& state_;
  const UsedTime& used_;
  Refitter refitter_;
  Proposals proposals_;
  std::map<int, double> waiting_since_s_;      // of the workers that are free
  int group_size_ = 1;                         // of the workers, as seen last
  std::shared_ptr<Refit::Prepared> prepared_;  // data of the refit that is being recorded
};

}  // namespace detol::inline scheduler
