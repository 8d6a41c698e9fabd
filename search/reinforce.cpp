// Reinforcement learning: a recurrent controller samples the choices one after the other and learns
// which actions pay (Zoph and Le, 2017, "Neural Architecture Search with Reinforcement Learning",
// ICLR, arXiv 1611.01578; Pham et al., 2018, "Efficient Neural Architecture Search", arXiv
// 1802.03268).
//
// A candidate is a sequence (decisions.h), the network that samples it is in controller.h. After
// every `batch` tells the controller is updated as PPO does (Schulman et al., 2017, "Proximal
// Policy Optimization Algorithms", arXiv 1707.06347): actions of trials that were better than
// usual become likelier, those of worse ones less likely, each by at most the factor 1 + `clip`;
// an entropy bonus keeps the policy from converging too early. The `elite` best trials so far are
// part of every update (Abolafia et al., 2018, "Neural Program Synthesis with Priority Queue
// Training", arXiv 1801.03526): a search of a hundred trials must learn from its best ones more
// than once.
//
//   batch 2, told (conv, 3) 0.2 and (pool, 5) 0.9; of the last trials 80 % and 10 % were worse:
//   advantages 0.8 - 0.2 = 0.6 and 0.1 - 0.9 = -0.8, so `conv` and then `3` become likelier and
//   `pool` and then `5` less likely; (conv, 3) is also elite and joins the next updates with 1
//
// Choices that the papers leave open:
// - An advantage is a rank: the share of the last kWindow trials that were worse, less the share
//   that were better. So it has a baseline, and no unit: the same losses in percent, or their
//   logarithms, give the same search. A failure is worse than every measurement and never elite.
// - The actions of all trials are treated as drawn from the policy just before the update. That is
//   right for the controller's newest trials and wrong for those of other proposers and the elite,
//   for which the update is a clipped step towards (or away from) them: their true probabilities
//   would add little but variance.
// - A number is an action for each of at most `bins` equal bins; a bin shares what is learned with
//   its neighbours.
// - Choices that the architecture makes no use of are not updated.
// - A sequence that was told before, or is expected, is not proposed; another is sampled, or it is
// mutated.
// - With sources a new controller is first updated by their trials, once, with advantages from
//   their ranks; none of them is elite. It races one that knows no sources (source_race.h).
// - In a long search a new controller begins now and then, with the latest trials and the elite
//   of all (experience.h), which bounds what a resume or a late retell must learn again.
//
// NAS-Bench-201, mean test accuracy of the trial with the best validation of 150, 300 seeds: 94.12
// on CIFAR-10 and 73.21 on CIFAR-100 (random search 93.8 and 71.6). Some twenty settings around the
// defaults were tried, with 40 other seeds each, there and on six functions: they hardly differ,
// except that five elite trials learn faster than ten or twenty, and that bins must share with
// their neighbours.
//
// The first weights are drawn from random stream 2^64 - 1 of the seed, trial n from stream n.
// Price: 50 microseconds per ask and tell with six choices, 0.4 ms with forty; a retell costs at
// most 1,280 tells.

#include <algorithm>
#include <limits>

#include "core/options.h"
#include "core/rng.h"
#include "search/controller.h"
#include "search/experience.h"
#include "search/numbered.h"
#include "search/searchers.h"
#include "search/source_race.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kWindow = 50;  // trials that an outcome is compared with

struct ReinforceOptions {
  std::size_t bins;
  std::size_t batch;
  std::size_t elite;
  int epochs;
  PpoSettings ppo;
};

struct ReinforceState {
  Controller controller;
  std::vector<std::size_t> elite;  // places in the experience, the best first
};

class Reinforce final : public Searcher {
 public:
  Reinforce(const Space& space, const SearcherSettings& settings, const ReinforceOptions& options)
      : rng_(settings.seed),
        options_(options),
        experience_(space, options.bins, settings.objectives.front().direction),
        source_episodes_(experience_.of_sources(settings)),
        states_(
            options.batch, [this](std::size_t start) { return initial_state(start); },
            [this](ReinforceState& state, std::size_t from, std::size_t to) {
              update(state, from, to);
            }) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    const Controller& controller = states_.after(experience_.episodes().size()).controller;
    return numbered(*this, first_id, count, [&](TrialId id) {
      Rng rng = rng_.split(id);
      return experience_.unseen([&] { return sample(controller, rng); }, rng);
    });
  }

  void expect(const Trial& trial) override { experience_.expect(trial); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    if (const auto place = experience_.tell(trial, outcome)) states_.forget(*place);
  }

 private:
  Genome sample(const Controller& controller, Rng& rng) const {
    Controller::SequenceState sequence;
    const auto choose = [&](std::size_t choice) {
      const std::vector<float> policy = controller.forward_step(sequence, choice);
      double left = rng.uniform();
      std::size_t action = 0;
      while (action + 1 < policy.size() && (left -= policy[action]) >= 0) ++action;
      controller.set_last_action(sequence, choice, action);
      return action;
    };
    return experience_.decisions().sample(choose, rng);
  }

  // Returns a new controller, and the elite of all trials told before `start`.
  ReinforceState initial_state(std::size_t start) const {
    const Decisions& decisions = experience_.decisions();
    ReinforceState state{.controller = Controller(decisions.action_counts(), decisions.ordered(),
                                                  rng_.split(~std::uint64_t{0})),
                         .elite = {}};
    for (std::size_t from = 0; from < source_episodes_.size(); from += options_.batch)
      learn_from_sources(state, from);
    for (std::size_t place = 0; place < start; ++place) join(state.elite, place);
    return state;
  }

  // Updates the controller by one batch of the sources' episodes.
  void learn_from_sources(ReinforceState& state, std::size_t from) const {
    std::vector<Trajectory> trajectories;
    const std::size_t to = std::min(source_episodes_.size(), from + options_.batch);
    for (std::size_t i = from; i < to; ++i) {
      const Episode& episode = source_episodes_[i];
      trajectories.push_back({episode.decisions, 1 - 2 * episode.loss.loss});
    }
    state.controller.update(trajectories, options_.epochs, options_.ppo);
  }

  // Updates the controller by one batch and the elite.
  void update(ReinforceState& state, std::size_t from, std::size_t to) const {
    std::vector<Trajectory> trajectories;
    for (std::size_t place = from; place < to; ++place) {
      join(state.elite, place);
      trajectories.push_back({experience_.episodes()[place].decisions, advantage_of(place, to)});
    }
    for (std::size_t place : state.elite)
      trajectories.push_back({experience_.episodes()[place].decisions, 1});
    state.controller.update(trajectories, options_.epochs, options_.ppo);
  }

  // Returns 1 for a trial that is better than all recent ones, -1 for one that is worse than all.
  double advantage_of(std::size_t place, std::size_t end) const {
    const std::vector<Episode>& told = experience_.episodes();
    const std::size_t begin = end > kWindow ? end - kWindow : 0;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += told[place].loss < told[i].loss ? 1 : 0;
      sum -= told[place].loss > told[i].loss ? 1 : 0;
    }
    return sum / static_cast<double>(end - begin);
  }

  // Adds a trial to the elite if it is good enough. A candidate is elite once, with its best
  // outcome.
  void join(std::vector<std::size_t>& elite, std::size_t place) const {
    const std::vector<Episode>& told = experience_.episodes();
    if (told[place].loss.loss == std::numeric_limits<double>::infinity()) return;
    const auto same = std::ranges::find(elite, told[place].identity,
                                        [&](std::size_t other) { return told[other].identity; });
    if (same != elite.end()) {
      if (told[*same].loss <= told[place].loss) return;
      elite.erase(same);
    }
    const auto worse = std::ranges::find_if(
        elite, [&](std::size_t other) { return told[other].loss > told[place].loss; });
    elite.insert(worse, place);
    if (elite.size() > options_.elite) elite.pop_back();
  }

  const Rng rng_;
  const ReinforceOptions options_;
  Experience experience_;
  const std::vector<Episode> source_episodes_;
  StateFold<ReinforceState> states_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_reinforce(const Space& space,
                                                 const SearcherSettings& settings) {
  OptionReader reader("reinforce", settings.options);
  const auto size = [&](std::string_view name, std::int64_t fallback, std::int64_t low) {
    return static_cast<std::size_t>(reader.whole(name, fallback, low, 1'000));
  };
  const PpoSettings defaults;
  const ReinforceOptions options{
      .bins = size("bins", 16, 2),
      .batch = size("batch", 5, 1),
      .elite = size("elite", 5, 0),
      .epochs = static_cast<int>(reader.whole("epochs", 2, 1, 100)),
      .ppo = {.clip = reader.real("clip", defaults.clip, 0.01, 100),
              .entropy = reader.real("entropy", defaults.entropy, 0, 10),
              .learning_rate = reader.real("learning_rate", defaults.learning_rate, 1e-6, 1)},
  };
  DETOL_TRY(reader.done());
  return raced("reinforce", space, settings, [&](const SearcherSettings& each) {
    return std::make_unique<Reinforce>(space, each, options);
  });
}

}  // namespace detol::inline search
