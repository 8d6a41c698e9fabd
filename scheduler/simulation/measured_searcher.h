#pragma once

// MeasuredSearcher: a searcher that counts what it is asked, and how long that really takes. The
// virtual time of proposals is the driver's matter (AskSettings). Not thread-safe.

#include "search/searcher.h"

namespace detol::inline scheduler {

class MeasuredSearcher final : public Searcher {
 public:
  // REQUIRES: the searcher outlives this.
  explicit MeasuredSearcher(Searcher& searcher) : searcher_(searcher) {}

  std::vector<Trial> ask(TrialId first_id, int count) override;
  void tell(const Trial& trial, const Outcome& outcome) override { searcher_.tell(trial, outcome); }
  void expect(const Trial& trial) override { searcher_.expect(trial); }
  std::optional<RefitJob> background() override { return searcher_.background(); }
  void absorb(const Refit& refit) override { searcher_.absorb(refit); }
  double trust_in_sources() override { return searcher_.trust_in_sources(); }

  std::int64_t proposals() const { return proposals_; }
  double real_s() const { return real_s_; }

 private:
  Searcher& searcher_;
  std::int64_t proposals_ = 0;
  double real_s_ = 0;
};

}  // namespace detol::inline scheduler
