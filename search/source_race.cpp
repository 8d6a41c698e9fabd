#include "search/source_race.h"

#include <map>
#include <string>

#include "search/outcome_value.h"
#include "search/sources.h"
#include "search/starting_list.h"

namespace detol::inline search {
namespace {

class SourceRace final : public Searcher {
 public:
  SourceRace(std::string_view name, Direction direction, std::unique_ptr<Searcher> with_sources,
             std::unique_ptr<Searcher> without)
      : name_(name),
        direction_(direction),
        with_sources_(std::move(with_sources)),
        without_(std::move(without)) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      const TrialId id = first_id + static_cast<TrialId>(i);
      Searcher& proposer = uses_sources(id) ? *with_sources_ : *without_;
      for (Trial& trial : proposer.ask(id, 1)) {
        expect(trial);
        trials.push_back(std::move(trial));
      }
    }
    return trials;
  }

  void expect(const Trial& trial) override {
    with_sources_->expect(trial);
    without_->expect(trial);
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    const bool is_raced = trial.id < kRaced && counts(trial.proposer);
    if (is_raced) losses_[trial.id] = ranked_loss(outcome, direction_);
    with_sources_->tell(trial, outcome);
    if (!is_raced || trial.id % 2 != 0) without_->tell(trial, outcome);
  }

 private:
  bool uses_sources(TrialId id) const { return id < kRaced ? id % 2 == 0 : have_sources_won(); }

  bool counts(std::string_view proposer) const {
    return proposer.empty() || proposer == name_ || proposer == kStartingListProposer;
  }

  // Returns true unless the raced trials without sources have won more pairs.
  bool have_sources_won() const {
    int balance = 0;
    for (const auto& [id, loss] : losses_) {
      if (id % 2 != 0) continue;
      for (const auto& [other, other_loss] : losses_) {
        if (other % 2 == 0) continue;
        balance += loss < other_loss ? 1 : 0;
        balance -= loss > other_loss ? 1 : 0;
      }
    }
    return balance >= 0;
  }

  const std::string name_;
  const Direction direction_;
  const std::unique_ptr<Searcher> with_sources_, without_;
  std::map<TrialId, RankedLoss> losses_;  // of the raced trials that were told
};

}  // namespace

std::unique_ptr<Searcher> raced(
    std::string_view name, const Space& space, const SearcherSettings& settings,
    const std::function<std::unique_ptr<Searcher>(const SearcherSettings&)>& make) {
  auto searcher = make(settings);
  if (mapped_sources(space, settings).empty()) return searcher;
  SearcherSettings without = settings;
  without.sources.clear();
  return std::make_unique<SourceRace>(name, settings.objectives.front().direction,
                                      std::move(searcher), make(without));
}

}  // namespace detol::inline search
