#include "scheduler/run/checkpoint_retention.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "surrogate/pareto.h"
#include "trainer/checkpoint.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;

// EndedAs: how a trial ended.
struct EndedAs {
  double loss = 0;
  bool is_pruned = false;  // of equal ones those that are not come first, then the first

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in a defaulted <=>
  auto operator<=>(const EndedAs&) const = default;
};

// Best holds the best trials by one loss, up to a limit.
class Best {
 public:
  explicit Best(std::size_t limit) : limit_(limit) {}

  // Adds a trial. Returns the one that drops out, if any.
  std::optional<TrialId> add(TrialId trial, const EndedAs& ended_as) {
    order_.insert({ended_as, trial});
    ended_as_[trial] = ended_as;
    if (order_.size() <= limit_) return std::nullopt;
    const TrialId last = std::prev(order_.end())->second;
    remove(last);
    return last;
  }

  void remove(TrialId trial) {
    const auto found = ended_as_.find(trial);
    if (found == ended_as_.end()) return;
    order_.erase({found->second, trial});
    ended_as_.erase(found);
  }

  bool contains(TrialId trial) const { return ended_as_.contains(trial); }

 private:
  const std::size_t limit_;
  std::set<std::pair<EndedAs, TrialId>> order_;
  std::unordered_map<TrialId, EndedAs> ended_as_;
};

// ParetoSet holds the trials for which no other is at least as good in every objective.
class ParetoSet {
 public:
  // Adds a trial unless another covers it. Returns those that drop out.
  std::vector<TrialId> add(TrialId trial, const std::vector<double>& losses) {
    if (std::ranges::any_of(members_, [&](const auto& m) { return covers(m.second, losses); }))
      return {};
    std::vector<TrialId> covered;
    for (const auto& [other, others_losses] : members_) {
      if (covers(losses, others_losses)) covered.push_back(other);
    }
    for (TrialId other : covered) members_.erase(other);
    members_.emplace(trial, losses);
    return covered;
  }

  void remove(TrialId trial) { members_.erase(trial); }
  bool contains(TrialId trial) const { return members_.contains(trial); }

 private:
  std::unordered_map<TrialId, std::vector<double>> members_;
};

class CheckpointRetention final : public Observer {
 public:
  explicit CheckpointRetention(CheckpointRetentionSettings settings)
      : settings_(std::move(settings)), best_(kKeptBest) {}

  // Also removes the checkpoints that a killed master should have removed.
  void began(const StudyState& state) override {
    for (const TrialRecord& trial : state.trials()) {
      if (trial.is_over()) (void)admit(trial, state.objectives());
    }
    std::error_code ignored;
    for (fs::directory_iterator at(settings_.folder, ignored), end; at != end;
         at.increment(ignored)) {
      const std::string name = at->path().filename().string();
      TrialId trial = 0;
      const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), trial);
      if (error == std::errc{} && stop == name.data() + name.size()) tidy(trial, state);
    }
  }

  void happened(const Event& event, const StudyState& state) override {
    if (const auto* requeued = std::get_if<event::Requeued>(&event)) withdraw(requeued->trial);
    const auto* told = std::get_if<event::Told>(&event);
    if (told == nullptr || !state.find(told->trial)->is_over()) return;
    withdraw(told->trial);
    for (TrialId trial : admit(*state.find(told->trial), state.objectives())) tidy(trial, state);
    tidy(told->trial, state);
  }

 private:
  // Adds an ended trial to the sets where it belongs. Returns those that drop out of one.
  std::vector<TrialId> admit(const TrialRecord& trial, const std::vector<Objective>& objectives) {
    const TrialId id = trial.trial.id;
    if (trial.reason.cause == EndCause::kBudget) cut_.insert(id);
    if (trial.epochs == 0 || trial.state == TrialState::kFail) return {};
    std::vector<double> losses;
    for (std::size_t i = 0; i < objectives.size(); ++i)
      losses.push_back(to_loss(objectives[i].direction, trial.values[i]));
    const auto is_nan = [](double loss) { return loss != loss; };
    if (is_nan(losses.front())) return {};
    std::vector<TrialId> ousted;
    if (settings_.parents > 0) parents_.insert(id);
    if (parents_.size() > settings_.parents) {
      ousted.push_back(*parents_.begin());
      parents_.erase(parents_.begin());
    }
    const bool may_be_best = !trial.breaks_constraints;
    if (may_be_best && std::ranges::none_of(losses, is_nan)) {
      const std::vector<TrialId> covered = pareto_.add(id, losses);
      ousted.insert(ousted.end(), covered.begin(), covered.end());
    }
    const EndedAs ended_as{losses.front(), trial.state != TrialState::kComplete};
    const auto last_of_best = may_be_best ? best_.add(id, ended_as) : std::nullopt;
    if (last_of_best) ousted.push_back(*last_of_best);
    const bool is_paused =
        trial.reason.cause == EndCause::kPruner && trial.reason.detail == settings_.pauses;
    if (!is_paused) return ousted;
    Best& rung = paused_.try_emplace(trial.epochs, kKeptPaused).first->second;
    if (const auto last = rung.add(id, ended_as)) ousted.push_back(*last);
    return ousted;
  }

  void withdraw(TrialId trial) {
    best_.remove(trial);
    pareto_.remove(trial);
    cut_.erase(trial);
    parents_.erase(trial);
    for (auto& [epochs, rung] : paused_) rung.remove(trial);
  }

  bool is_kept(TrialId trial) const {
    return best_.contains(trial) || pareto_.contains(trial) || parents_.contains(trial) ||
           may_begin_again(trial);
  }

  bool may_begin_again(TrialId trial) const {
    return std::ranges::any_of(paused_,
                               [&](const auto& rung) { return rung.second.contains(trial); });
  }

  // Removes all checkpoints of an ended trial but the one that it may keep, if any. What the budget
  // cut keeps all of its few: the one that it was scored with, and where it resumes.
  void tidy(TrialId id, const StudyState& state) const {
    const TrialRecord* trial = state.find(id);
    if (trial == nullptr || !trial->is_over() || cut_.contains(id)) return;
    const fs::path folder = settings_.folder / std::to_string(id);
    remove_checkpoints(folder, is_kept(id) ? trial->epochs : 0);
    std::error_code ignored;
    if (!may_begin_again(id)) fs::remove_all(folder / kParentFolder, ignored);
    fs::remove(folder, ignored);  // if nothing else is in it
  }

  const CheckpointRetentionSettings settings_;
  Best best_;
  ParetoSet pareto_;
  std::unordered_set<TrialId> cut_;  // trials cut by the budget
  std::map<double, Best> paused_;    // by epochs, one for each rung
  std::set<TrialId> parents_;        // the settings_.parents highest of the ended trials
};

}  // namespace

std::unique_ptr<Observer> make_checkpoint_retention(CheckpointRetentionSettings settings) {
  return std::make_unique<CheckpointRetention>(std::move(settings));
}

}  // namespace detol::inline scheduler
