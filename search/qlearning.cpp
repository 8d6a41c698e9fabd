// Q-learning over the sequence of choices (Baker et al., 2017, "Designing Neural Network
// Architectures using Reinforcement Learning", MetaQNN, ICLR, arXiv 1611.02167, algorithms 1-3).
//
// A candidate is a sequence of actions, one for each choice (decisions.h). The state of a learner
// in the middle of a sequence is the choice that it has to make and the action it chose last;
// Q(state, action) is the reward it expects at the end if it takes this action and the best ones
// from there on. Each action of a trial is the best one, or with probability epsilon a random one.
// After every tell `replays` trials are drawn from all that were told, and each is learned from its
// end:
//
//   Q(last state, action) += rate (reward - Q)
//   Q(state, action)      += rate (target - Q)
//   target               = the highest Q of the next state, moved by `trace` to its own target
//
//   rate 0.5, trace 0, all Q 0.5, (conv, 3) told, better than 90 %: Q(kernel after conv, 3) = 0.7,
//   then Q(op, conv) = 0.6, as conv may be followed by 3, which is worth 0.7; with trace 0.5 the
//   target of (op, conv) is not 0.7 but 0.8, halfway to the reward: Q(op, conv) = 0.65
//
// Epsilon falls from 1 to 0.1 as in the paper's table 1, whose 2,700 models are scaled to
// `schedule` trials: 56 % of them at 1, 4 % each at 0.9, 0.8 and 0.7, 6 % each from 0.6 down; 0.1
// from there on.
//
// `trace` 0 is the paper. There, the outcome reaches an action through all later actions, one state
// at a time, which takes thousands of trials, and an effect that depends on more than the next
// state never reaches it. Peng's Q(lambda) (Peng and Williams, 1996, "Incremental Multi-Step
// Q-Learning", Machine Learning 22) solves both. Of 150 trials on NAS-Bench-201's CIFAR-100 the
// best had 72.3 (trace 0), 73.1 (0.5), 73.0 (0.8) and 72.9 (1) on the test, and of 200 on a chain
// of twenty actions the loss was 0.26, 0.24, 0.18 and 0.17 (random: 0.28), 40 seeds each.
//
// Choices that the paper leaves open:
// - The reward is a rank, the share of all told trials that were worse: no unit, and 0.5 (the
//   paper's first Q) is what an unknown action is worth. A failure earns 0.
// - A number is an action for each of at most `bins` equal bins.
// - Choices that the architecture makes no use of are not replayed.
// - Q-learning is off-policy, so it learns from the trials of other proposers, too.
// - A sequence that was told before, or is expected, is not proposed; another is sampled, or it is
// mutated.
// - With sources a new table begins with kSourceReplays of their trials, and epsilon as if
//   kSourceSchedule of the schedule had passed. It races one that knows no sources (source_race.h).
// - In a long search a new table begins now and then, with kRecall replays of the trials before
//   it (experience.h), which bounds what a resume or a late retell must learn again.
//
// The replays after tell n are drawn from random stream n of stream 2^64 - 1 of the seed, trial n
// from stream n. Price: 15 microseconds per ask and tell with six choices, 0.1 ms with forty; a
// retell costs at most 1,280 tells.

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "core/hash.h"
#include "core/options.h"
#include "core/rng.h"
#include "search/experience.h"
#include "search/numbered.h"
#include "search/searchers.h"
#include "search/source_race.h"

namespace detol::inline search {
namespace {

constexpr double kInitialQ = 0.5;
constexpr std::size_t kRecall = 20'000;  // replays with which a later table begins
constexpr std::size_t kSourceReplays = 2'000;
constexpr double kSourceSchedule = 0.6;

struct QLearningOptions {
  std::size_t bins;
  std::size_t schedule;
  std::size_t replays;
  double rate;
  double trace;
};

// The trials of table 1 (of 2,700) after which epsilon is 0.9, 0.8, ... 0.1.
constexpr std::array kTable = {1500, 1600, 1700, 1800, 1950, 2100, 2250, 2400, 2550};

double epsilon_after(std::size_t told, std::size_t schedule) {
  double epsilon = 1;
  for (int models : kTable)
    epsilon -= told * 2700 >= schedule * static_cast<std::size_t>(models) ? 0.1 : 0;
  return epsilon;
}

// Step: one decision of a trial. `row` is where the Q values of its state begin.
struct Step {
  std::size_t row;
  std::size_t actions;
  std::size_t action;
};

struct QTable {
  std::vector<double> q;           // the rows of all states
  std::vector<RankedLoss> losses;  // losses of all told trials, the best first
};

class QLearning final : public Searcher {
 public:
  QLearning(const Space& space, const SearcherSettings& settings, const QLearningOptions& options)
      : rng_(settings.seed),
        options_(options),
        experience_(space, options.bins, settings.objectives.front().direction),
        source_episodes_(experience_.of_sources(settings)),
        tables_(
            1, [this](std::size_t start) { return initial_table(start); },
            [this](QTable& table, std::size_t, std::size_t to) {
              join(table, to - 1);
              replay(table, to, options_.replays);
            }) {
    for (const Episode& episode : source_episodes_) source_steps_.push_back(steps_of(episode));
    if (!source_episodes_.empty())
      begun_ = static_cast<std::size_t>(kSourceSchedule * static_cast<double>(options_.schedule));
  }

  std::vector<Trial> ask(TrialId first_id, int count) override {
    const QTable& table = tables_.after(experience_.episodes().size());
    return numbered(*this, first_id, count, [&](TrialId id) {
      Rng rng = rng_.split(id);
      return experience_.unseen([&] { return sample(table.q, rng); }, rng);
    });
  }

  void expect(const Trial& trial) override { experience_.expect(trial); }

  void tell(const Trial& trial, const Outcome& outcome) override {
    if (const auto place = experience_.tell(trial, outcome)) tables_.forget(*place);
    if (steps_.size() < experience_.episodes().size())
      steps_.push_back(steps_of(experience_.episodes().back()));
  }

 private:
  // The choice to make, then choice and action of the decision before, or kStart twice.
  using State = std::array<std::size_t, 3>;
  static constexpr std::size_t kStart = static_cast<std::size_t>(-1);

  Genome sample(const std::vector<double>& q, Rng& rng) const {
    const double epsilon = epsilon_after(begun_ + experience_.episodes().size(), options_.schedule);
    const std::vector<std::size_t>& actions = experience_.decisions().action_counts();
    State state{0, kStart, kStart};
    const auto choose = [&](std::size_t choice) {
      state[0] = choice;
      const auto row = rows_.find(state);
      const bool explore = rng.chance(epsilon) || row == rows_.end();
      const std::size_t action = explore ? rng.below(actions[choice])
                                         : best_action({&q[row->second], actions[choice]}, rng);
      state = {0, choice, action};
      return action;
    };
    return experience_.decisions().sample(choose, rng);
  }

  // Returns a random one of the actions with the highest value.
  static std::size_t best_action(std::span<const double> values, Rng& rng) {
    const double top = *std::ranges::max_element(values);
    std::uint64_t skip = rng.below(static_cast<std::uint64_t>(std::ranges::count(values, top)));
    std::size_t action = 0;
    while (values[action] != top || skip-- > 0) ++action;
    return action;
  }

  // Returns the decisions of a trial that count, and gives each of its states a row.
  std::vector<Step> steps_of(const Episode& episode) {
    std::vector<Step> steps;
    State state{0, kStart, kStart};
    for (const Decision& decision : episode.decisions) {
      state[0] = decision.choice;
      const std::size_t actions = experience_.decisions().action_counts()[decision.choice];
      const auto [row, is_new] = rows_.try_emplace(state, q_size_);
      if (is_new) q_size_ += actions;
      if (decision.counts) steps.push_back({row->second, actions, decision.action});
      state = {0, decision.choice, decision.action};
    }
    return steps;
  }

  QTable initial_table(std::size_t start) const {
    QTable table;
    replay_sources(table);
    for (std::size_t place = 0; place < start; ++place) join(table, place);
    if (start > 0) replay(table, start, kRecall);
    return table;
  }

  void join(QTable& table, std::size_t place) const {
    const RankedLoss& loss = experience_.episodes()[place].loss;
    table.losses.insert(std::ranges::upper_bound(table.losses, loss), loss);
  }

  void replay_sources(QTable& table) const {
    if (source_episodes_.empty()) return;
    table.q.resize(q_size_, kInitialQ);
    Rng rng = rng_.split(hash64("replays of sources"));
    for (std::size_t i = 0; i < kSourceReplays; ++i) {
      const std::size_t place = rng.below(source_episodes_.size());
      learn(table, source_steps_[place], 1 - source_episodes_[place].loss.loss);
    }
  }

  // Learns from `count` draws of the first `told` trials.
  void replay(QTable& table, std::size_t told, std::size_t count) const {
    table.q.resize(q_size_, kInitialQ);
    Rng rng = rng_.split(~std::uint64_t{0}).split(told);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = rng.below(told);
      learn(table, steps_[place], reward_of(table, experience_.episodes()[place].loss));
    }
  }

  // Learns a trial's reward from the end of its steps.
  void learn(QTable& table, const std::vector<Step>& steps, double target) const {
    for (std::size_t t = steps.size(); t-- > 0;) {
      const Step& step = steps[t];
      double* row = &table.q[step.row];
      row[step.action] += options_.rate * (target - row[step.action]);
      const double best = *std::max_element(row, row + step.actions);
      target = best + options_.trace * (target - best);
    }
  }

  // Returns the share of all told trials that were worse, plus half the share of equal ones.
  static double reward_of(const QTable& table, const RankedLoss& loss) {
    if (loss.loss == std::numeric_limits<double>::infinity()) return 0;
    const auto [equal, worse] = std::equal_range(table.losses.begin(), table.losses.end(), loss);
    const auto count =
        static_cast<double>(table.losses.end() - worse) + static_cast<double>(worse - equal) / 2;
    return count / static_cast<double>(table.losses.size());
  }

  const Rng rng_;
  const QLearningOptions options_;
  Experience experience_;
  const std::vector<Episode> source_episodes_;
  std::vector<std::vector<Step>> source_steps_;
  std::size_t begun_ = 0;                 // tells that the schedule is ahead
  std::vector<std::vector<Step>> steps_;  // of every trial of the experience
  std::map<State, std::size_t> rows_;     // where each state's values begin
  std::size_t q_size_ = 0;
  StateFold<QTable> tables_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_qlearning(const Space& space,
                                                 const SearcherSettings& settings) {
  OptionReader reader("qlearning", settings.options);
  const auto size = [&](std::string_view name, std::int64_t fallback, std::int64_t low,
                        std::int64_t high) {
    return static_cast<std::size_t>(reader.whole(name, fallback, low, high));
  };
  const QLearningOptions options{.bins = size("bins", 8, 2, 1'000),
                                 .schedule = size("schedule", 60, 1, 1'000'000),
                                 .replays = size("replays", 100, 1, 10'000),
                                 .rate = reader.real("rate", 0.1, 1e-6, 1),
                                 .trace = reader.real("trace", 0.8, 0, 1)};
  DETOL_TRY(reader.done());
  return raced("qlearning", space, settings, [&](const SearcherSettings& each) {
    return std::make_unique<QLearning>(space, each, options);
  });
}

}  // namespace detol::inline search
