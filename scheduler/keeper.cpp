#include "scheduler/keeper.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace detol {
namespace {

class Keeper final : public Observer {
 public:
  explicit Keeper(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The ten best change only when a trial ends: then one of them leaves, or the trial itself
  // is not among them.
  void happened(const Event& event, const Book& book) override {
    const auto* told = std::get_if<event::Told>(&event);
    if (told == nullptr) return;
    const TrialEntry& trial = *book.find(told->trial);
    if (!trial.is_over() || trial.reason == kBudgetReason) return;
    std::erase(best_, trial.trial.id);  // of a trial that was continued
    if (trial.epochs > 0 && trial.state != TrialState::kFail)
      best_.push_back(trial.trial.id);
    else
      remove_checkpoints(trial.trial.id);
    const Direction direction = book.objectives().front().direction;
    std::ranges::stable_sort(best_, [&](TrialId a, TrialId b) {
      return is_better(direction, book.find(a)->values.front(), book.find(b)->values.front());
    });
    if (best_.size() <= kKeptTrials) return;
    remove_checkpoints(best_.back());
    best_.pop_back();
  }

 private:
  void remove_checkpoints(TrialId trial) const {
    std::error_code ignored;  // a checkpoint too many does no harm
    const std::filesystem::path folder = folder_ / std::to_string(trial);
    for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
      if (file.path().extension() == ".ckpt") std::filesystem::remove(file.path(), ignored);
    }
  }

  const std::filesystem::path folder_;
  std::vector<TrialId> best_;  // ended with a value and still with checkpoints, best first
};

}  // namespace

std::unique_ptr<Observer> make_keeper(std::filesystem::path folder) {
  return std::make_unique<Keeper>(std::move(folder));
}

}  // namespace detol
