#include "scheduler/run/inheritance.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/log.h"
#include "knowledge/artefacts.h"
#include "trainer/inheritance/inherited_weights.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;

constexpr double kNearly = 0.95;  // of the largest share counts as much

class Inheritance {
 public:
  Inheritance(const StudyConfig& config, const Task& task, fs::path folder)
      : config_(config), task_(task), folder_(std::move(folder)) {}

  std::optional<ParentWeights> choose(const Trial& trial, const Candidate& candidate,
                                      const StudyState& state) {
    const std::vector<TrialId> parents = config_.inherit == Inherit::kParent
                                             ? named_parent(trial, state)
                                             : nearest(candidate.network, state);
    for (const TrialId parent : parents) {
      if (keep_for(trial.id, parent)) return ParentWeights{parent, state.find(parent)->epochs};
    }
    if (!parents.empty())
      log_warning("trial {} begins with weights of its own: those of trial {} are gone", trial.id,
                  parents.front());
    return std::nullopt;
  }

 private:
  // Returns the trial that this one was made from, or the one whose outcome that took.
  static std::vector<TrialId> named_parent(const Trial& trial, const StudyState& state) {
    const TrialRecord* parent = trial.parent ? state.find(*trial.parent) : nullptr;
    const bool is_answered = parent != nullptr && parent->reason.cause == EndCause::kSameTrial &&
                             parent->reason.detail.empty();
    if (is_answered) parent = state.find(parent->reason.same_as);
    if (parent == nullptr || parent->epochs == 0) return {};
    return {parent->trial.id};
  }

  // Returns the trials from which the network may take most of its numbers, the best first.
  std::vector<TrialId> nearest(const Network& network, const StudyState& state) {
    struct Known {
      TrialId trial;
      double share;
      double value;
    };
    std::vector<Known> known;
    double largest = 0;
    for (const TrialRecord* trial : newest(state)) {
      const auto parent = network_of(trial->trial);
      if (!parent) continue;
      const double share = inherited_share(plan_inheritance(*parent, network), network);
      known.push_back({trial->trial.id, share, trial->values.front()});
      largest = std::max(largest, share);
    }
    std::erase_if(
        known, [&](const Known& one) { return one.share <= 0 || one.share < kNearly * largest; });
    const Direction direction = config_.objectives.front().direction;
    std::ranges::stable_sort(known, [&](const Known& one, const Known& other) {
      return is_better(direction, one.value, other.value);
    });
    std::vector<TrialId> trials;
    for (const Known& one : known) trials.push_back(one.trial);
    return trials;
  }

  // Returns the ended trials of the highest numbers that were trained.
  static std::vector<const TrialRecord*> newest(const StudyState& state) {
    std::vector<const TrialRecord*> trials;
    for (TrialId id = state.next_id(); id-- > 0 && trials.size() < kKeptParents;) {
      const TrialRecord* trial = state.find(id);
      const bool is_trained = trial->is_over() && trial->epochs > 0 && trial->attempt > 0 &&
                              trial->state != TrialState::kFail;
      if (is_trained) trials.push_back(trial);
    }
    return trials;
  }

  std::optional<Network> network_of(const Trial& trial) {
    const auto known = networks_.find(trial.id);
    if (known != networks_.end()) return known->second;
    auto candidate = config_.candidate(trial.genome, task_);
    if (!candidate) return std::nullopt;
    if (networks_.size() > 2 * kKeptParents) networks_.clear();
    return networks_.emplace(trial.id, std::move(candidate->network)).first->second;
  }

  // Links the parent's checkpoints into the trial's folder; returns false if there are none.
  bool keep_for(TrialId trial, TrialId parent) const {
    const fs::path to = folder_ / std::to_string(trial) / kParentFolder;
    std::error_code ignored;
    fs::remove_all(to, ignored);  // of a master that was killed before it recorded its choice
    const auto shared = share_checkpoints(folder_ / std::to_string(parent), to);
    if (!shared) log_warning("{}", shared.error().message);
    return shared && fs::exists(to, ignored);
  }

  const StudyConfig& config_;
  const Task task_;
  const fs::path folder_;
  std::map<TrialId, Network> networks_;  // of trials that were looked at before
};

}  // namespace

Inherits make_inheritance(const StudyConfig& config, const Task& task, fs::path folder) {
  if (config.inherit == Inherit::kNone) return nullptr;
  return [it = std::make_shared<Inheritance>(config, task, std::move(folder))](
             const Trial& trial, const Candidate& candidate, const StudyState& state) {
    return it->choose(trial, candidate, state);
  };
}

decltype(SearcherSettings::preserves) make_preserves(const StudyConfig& config, const Task& task) {
  if (config.inherit == Inherit::kNone) return nullptr;
  return [&config, task](const Genome& parent, const Genome& child) {
    const auto before = config.candidate(parent, task), after = config.candidate(child, task);
    return before && after && plan_inheritance(before->network, after->network).preserves;
  };
}

}  // namespace detol::inline scheduler
