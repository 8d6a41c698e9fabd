// Reinforcement learning: a recurrent controller says the choices one after the other and learns
// which words pay (Zoph and Le, 2017, "Neural Architecture Search with Reinforcement Learning",
// ICLR, arXiv 1611.01578; Pham et al., 2018, "Efficient Neural Architecture Search", arXiv
// 1802.03268).
//
// A candidate is a sentence (decisions.h), the network that says it is in controller.h. After
// every `batch` tells the controller is updated as PPO does (Schulman et al., 2017, "Proximal
// Policy Optimization Algorithms", arXiv 1707.06347): words of trials that were better than
// usual become likelier, those of worse ones less likely, each by at most the factor 1 + `clip`;
// an entropy bonus keeps it from being sure too early. The `elite` best trials so far are part
// of every update (Abolafia et al., 2018, "Neural Program Synthesis with Priority Queue
// Training", arXiv 1801.03526): a search of a hundred trials cannot afford to see its best
// ones once.
//
//   batch 2, told (conv, 3) 0.2 and (pool, 5) 0.9; of the last trials 80 % and 10 % were worse:
//   advantages 0.8 - 0.2 = 0.6 and 0.1 - 0.9 = -0.8, so `conv` and then `3` become likelier and
//   `pool` and then `5` less likely; (conv, 3) is also elite and joins the next updates with 1
//
// What the papers leave open, and its answers here:
// - An advantage is a rank: the share of the last kWindow trials that were worse, less the share
//   that were better. So it has a baseline, and no unit: the same losses in percent, or their
//   logarithms, give the same search. A failure is worse than every measurement and no elite.
// - Whoever proposed a trial, its words are taken as drawn from the policy just before the
//   update. That is right for the newest of its own and wrong for strangers and the elite, for
//   whom the update is a clipped step towards (or away from) them: what little a stranger's
//   true probability would add, its variance would take away.
// - A number is a word for each of at most `bins` equal bins; a bin teaches its neighbours.
// - Choices that the architecture makes no use of carry no credit.
// - A sentence that was told before is said again, up to kTries times, then mutated as often.
// - Long searches: after every kHorizon tells a new controller starts from the last kOverlap
//   of them and the elite of all. What a retell or a resume must learn again is thereby bounded
//   by kHorizon + kOverlap tells, and by kSnapshot where the retell is a recent one.
//
// The first weights are drawn from stream 2^64 - 1 of the seed, trial n from stream n. Price:
// 0.1 ms per ask and tell of six choices, 0.7 ms of forty; 0.3 MB per snapshot then.

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/options.h"
#include "core/rng.h"
#include "search/controller.h"
#include "search/decisions.h"
#include "search/searchers.h"

namespace detol {
namespace {

constexpr std::size_t kHorizon = 1024;  // tells after which a new controller starts ...
constexpr std::size_t kOverlap = 256;   // ... once it has so many to learn from
constexpr std::size_t kSnapshot = 128;  // tells between two states that a retell can go back to
constexpr std::size_t kWindow = 50;     // trials that an outcome is compared with
constexpr int kTries = 20;              // sequences spoken to find a new candidate
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Knobs {
  std::size_t bins;
  std::size_t batch;
  std::size_t elite;
  int epochs;
  Teaching teaching;
};

// A trial as it was last told, where it was first told.
struct Told {
  TrialId id;
  std::uint64_t identity;
  std::vector<Decision> decisions;
  double loss;  // less is better; kNever: failed
};

// What was learned from the first `told` of the history.
struct Learned {
  std::size_t told = 0;
  Controller controller;
  std::vector<std::size_t> elite;  // positions in the history, the best first
};

class Reinforce final : public Searcher {
 public:
  Reinforce(const Space& space, const SearcherSettings& settings, const Knobs& knobs)
      : space_(space),
        decisions_(space, knobs.bins),
        rng_(settings.seed),
        direction_(settings.objectives.front().direction),
        knobs_(knobs) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    learn();
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
      const TrialId id = first_id + static_cast<TrialId>(i);
      trials.push_back({id, propose(rng_.split(id))});
    }
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    const double loss = loss_of(outcome);
    const auto [earlier, is_new] = positions_.try_emplace(trial.id, history_.size());
    if (is_new) {
      const std::uint64_t identity = space_.identity(trial.genome);
      known_.insert(identity);
      history_.push_back({trial.id, identity, decisions_.read(trial.genome), loss});
      return;
    }
    Told& told = history_[earlier->second];
    if (told.loss == loss) return;
    told.loss = loss;
    forget(earlier->second);
  }

 private:
  Genome propose(Rng rng) const {
    Genome genome = speak(rng);
    for (int i = 0; i < kTries && is_known(genome); ++i) genome = speak(rng);
    for (int i = 0; i < kTries && is_known(genome); ++i) genome = space_.mutate(genome, rng);
    return genome;
  }

  bool is_known(const Genome& genome) const { return known_.contains(space_.identity(genome)); }

  Genome speak(Rng& rng) const {
    const Controller& controller = learned_.back().controller;
    Controller::Sentence sentence;
    const auto choose = [&](std::size_t choice) {
      const std::vector<float> policy = controller.think(sentence, choice);
      double left = rng.uniform();
      std::size_t word = 0;
      while (word + 1 < policy.size() && (left -= policy[word]) >= 0) ++word;
      controller.say(sentence, choice, word);
      return word;
    };
    return decisions_.speak(choose, rng);
  }

  double loss_of(const Outcome& outcome) const {
    const auto* measured = std::get_if<Measured>(&outcome);
    if (measured == nullptr || measured->values.empty()) return kNever;
    const double value = measured->values.front();
    if (value != value) return kNever;
    return direction_ == Direction::kMinimize ? value : -value;
  }

  // Everything that was learned from the trial at `position`.
  void forget(std::size_t position) {
    while (!learned_.empty() && (position < start_ || learned_.back().told > position))
      learned_.pop_back();
  }

  // Learns from all whole batches that were told.
  void learn() {
    const std::size_t count = history_.size();
    const std::size_t start =
        count < kHorizon + kOverlap ? 0 : (count - kOverlap) / kHorizon * kHorizon;
    if (start != start_) learned_.clear();
    start_ = start;
    if (learned_.empty()) learned_.push_back(beginner());
    while (learned_.back().told + knobs_.batch <= count) {
      // The last state goes on, unless a retell may want to come back to it.
      const std::size_t told = learned_.back().told;
      const bool keep =
          learned_.size() < 2 || told >= learned_[learned_.size() - 2].told + kSnapshot;
      if (keep) learned_.push_back(learned_.back());
      study(learned_.back());
    }
  }

  // A new controller, and the elite of all that was told before its time.
  Learned beginner() const {
    Learned learned{.told = start_,
                    .controller = Controller(decisions_.words(), decisions_.ordered(),
                                             rng_.split(~std::uint64_t{0})),
                    .elite = {}};
    for (std::size_t i = 0; i < start_; ++i) join(learned.elite, i);
    return learned;
  }

  // One update: the next batch, and the elite.
  void study(Learned& learned) const {
    const std::size_t end = learned.told + knobs_.batch;
    std::vector<Lesson> lessons;
    for (std::size_t i = learned.told; i < end; ++i) {
      join(learned.elite, i);
      lessons.push_back({history_[i].decisions, advantage_of(i, end)});
    }
    for (std::size_t position : learned.elite) lessons.push_back({history_[position].decisions, 1});
    learned.controller.learn(lessons, knobs_.epochs, knobs_.teaching);
    learned.told = end;
  }

  // From 1, better than all recent trials, to -1, worse than all.
  double advantage_of(std::size_t position, std::size_t end) const {
    const std::size_t begin = end > kWindow ? end - kWindow : 0;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += history_[position].loss < history_[i].loss ? 1 : 0;
      sum -= history_[position].loss > history_[i].loss ? 1 : 0;
    }
    return sum / static_cast<double>(end - begin);
  }

  // A candidate is elite once, with its best outcome.
  void join(std::vector<std::size_t>& elite, std::size_t position) const {
    const Told& told = history_[position];
    if (told.loss == kNever) return;
    const auto same = std::ranges::find_if(
        elite, [&](std::size_t other) { return history_[other].identity == told.identity; });
    if (same != elite.end()) {
      if (history_[*same].loss <= told.loss) return;
      elite.erase(same);
    }
    const auto worse = std::ranges::find_if(
        elite, [&](std::size_t other) { return history_[other].loss > told.loss; });
    elite.insert(worse, position);
    if (elite.size() > knobs_.elite) elite.pop_back();
  }

  const Space space_;
  const Decisions decisions_;
  const Rng rng_;
  const Direction direction_;
  const Knobs knobs_;
  std::vector<Told> history_;
  std::unordered_map<TrialId, std::size_t> positions_;  // in the history
  std::unordered_set<std::uint64_t> known_;             // identities of all told
  std::size_t start_ = 0;         // the trial that the present controller began with
  std::vector<Learned> learned_;  // snapshots, then the present state
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_reinforce(const Space& space,
                                                 const SearcherSettings& settings) {
  OptionReader options("reinforce", settings.options);
  const auto size = [&](std::string_view name, std::int64_t fallback, std::int64_t low) {
    return static_cast<std::size_t>(options.whole(name, fallback, low, 1'000));
  };
  const Knobs knobs{
      .bins = size("bins", 16, 2),
      .batch = size("batch", 5, 1),
      .elite = size("elite", 5, 0),
      .epochs = static_cast<int>(options.whole("epochs", 2, 1, 100)),
      .teaching = {.clip = options.real("clip", 0.3, 0.01, 100),
                   .entropy = options.real("entropy", 0.03, 0, 10),
                   .learning_rate = options.real("learning_rate", 0.03, 1e-6, 1)},
  };
  DETOL_TRY(options.done());
  return std::make_unique<Reinforce>(space, settings, knobs);
}

}  // namespace detol
