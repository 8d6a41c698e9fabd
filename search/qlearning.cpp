// Q-learning over the sequence of choices (Baker et al., 2017, "Designing Neural Network
// Architectures using Reinforcement Learning", MetaQNN, ICLR, arXiv 1611.02167, algorithms 1-3).
//
// A candidate is a sentence of words, one for each choice (decisions.h). The state of a learner
// in mid-sentence is the choice that it has to make and the word it said last; Q(state, word) is
// the reward it expects at the end if it says this word and the best ones from there on. A trial
// is spoken greedily, but with probability epsilon for each word at random. After every tell
// `replays` trials are drawn from all that were told, and each is learned from its end:
//
//   Q(last state, word) += rate (reward - Q)
//   Q(state, word)      += rate (target - Q)
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
// `trace` 0 is the paper. There, a word learns of the outcome through all the words after it, one
// state at a time, which takes thousands of trials, and not at all what the next state does not
// remember of it. Peng's Q(lambda) (Peng and Williams, 1996, "Incremental Multi-Step Q-Learning",
// Machine Learning 22) mends both. Of 150 trials on NAS-Bench-201's CIFAR-100 the best had 72.3
// (trace 0), 73.1 (0.5), 73.0 (0.8) and 72.9 (1) on the test, and of 200 on a chain of twenty
// words the loss was 0.26, 0.24, 0.18 and 0.17 (random: 0.28), 40 seeds each.
//
// What the paper leaves open, and its answers here:
// - The reward is a rank, the share of all told trials that were worse: no unit, and 0.5 (the
//   paper's first Q) is what an unknown word is worth. A failure earns 0.
// - A number is a word for each of at most `bins` equal bins.
// - Choices that the architecture makes no use of are left out of what is replayed.
// - Whoever proposed a trial: Q-learning is off-policy, so strangers teach as its own do.
// - A sentence that was told before is not proposed; another is said, or it is mutated.
// - In a long search a new table begins now and then, with kRecall replays of the trials before
//   it (experience.h): what a resume or a late retell must learn again is bounded.
//
// The replays after tell n are drawn from stream n of stream 2^64 - 1 of the seed, trial n from
// stream n. Price: 15 microseconds per ask and tell of six choices, 0.1 ms of forty; what a retell
// costs at most is 1,280 tells.

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "core/options.h"
#include "core/rng.h"
#include "search/experience.h"
#include "search/numbered.h"
#include "search/searchers.h"

namespace detol {
namespace {

constexpr double kFirstQ = 0.5;
constexpr std::size_t kRecall = 20'000;  // replays with which a later table begins

struct Knobs {
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

// One decision of a trial: where the row of Q of its state begins, and the word.
struct Move {
  std::size_t row;
  std::size_t words;
  std::size_t word;
};

struct Learned {
  std::vector<double> q;       // the rows of all states
  std::vector<double> losses;  // of all told, the best first
};

class QLearning final : public Searcher {
 public:
  QLearning(const Space& space, const SearcherSettings& settings, const Knobs& knobs)
      : rng_(settings.seed),
        knobs_(knobs),
        experience_(space, knobs.bins, settings.objectives.front().direction),
        learning_(
            1, [this](std::size_t start) { return beginner(start); },
            [this](Learned& learned, std::size_t, std::size_t to) {
              join(learned, to - 1);
              replay(learned, to, knobs_.replays);
            }) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    const Learned& learned = learning_.after(experience_.told().size());
    return numbered(first_id, count, [&](TrialId id) {
      Rng rng = rng_.split(id);
      return experience_.unheard([&] { return speak(learned.q, rng); }, rng);
    });
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    if (const auto place = experience_.tell(trial, outcome)) learning_.forget(*place);
    if (moves_.size() < experience_.told().size())
      moves_.push_back(moves_of(experience_.told().back()));
  }

 private:
  // The choice to make, then choice and word of the decision before, or kStart twice.
  using State = std::array<std::size_t, 3>;
  static constexpr std::size_t kStart = static_cast<std::size_t>(-1);

  Genome speak(const std::vector<double>& q, Rng& rng) const {
    const double epsilon = epsilon_after(experience_.told().size(), knobs_.schedule);
    const std::vector<std::size_t>& words = experience_.decisions().words();
    State state{0, kStart, kStart};
    const auto choose = [&](std::size_t choice) {
      state[0] = choice;
      const auto row = rows_.find(state);
      const bool guess = rng.chance(epsilon) || row == rows_.end();
      const std::size_t word =
          guess ? rng.below(words[choice]) : best_word({&q[row->second], words[choice]}, rng);
      state = {0, choice, word};
      return word;
    };
    return experience_.decisions().speak(choose, rng);
  }

  // One of the words with the highest value.
  static std::size_t best_word(std::span<const double> values, Rng& rng) {
    const double top = *std::ranges::max_element(values);
    std::uint64_t skip = rng.below(static_cast<std::uint64_t>(std::ranges::count(values, top)));
    std::size_t word = 0;
    while (values[word] != top || skip-- > 0) ++word;
    return word;
  }

  // The decisions of a trial that count; gives every state of it a row.
  std::vector<Move> moves_of(const Told& told) {
    std::vector<Move> moves;
    State state{0, kStart, kStart};
    for (const Decision& decision : told.decisions) {
      state[0] = decision.choice;
      const std::size_t words = experience_.decisions().words()[decision.choice];
      const auto [row, is_new] = rows_.try_emplace(state, q_size_);
      if (is_new) q_size_ += words;
      if (decision.counts) moves.push_back({row->second, words, decision.word});
      state = {0, decision.choice, decision.word};
    }
    return moves;
  }

  Learned beginner(std::size_t start) const {
    Learned learned;
    for (std::size_t place = 0; place < start; ++place) join(learned, place);
    if (start > 0) replay(learned, start, kRecall);
    return learned;
  }

  void join(Learned& learned, std::size_t place) const {
    const double loss = experience_.told()[place].loss;
    learned.losses.insert(std::ranges::upper_bound(learned.losses, loss), loss);
  }

  // Learns from `count` draws of the first `told` trials.
  void replay(Learned& learned, std::size_t told, std::size_t count) const {
    learned.q.resize(q_size_, kFirstQ);
    Rng rng = rng_.split(~std::uint64_t{0}).split(told);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = rng.below(told);
      double target = reward_of(learned, experience_.told()[place].loss);
      for (std::size_t t = moves_[place].size(); t-- > 0;) {
        const Move& move = moves_[place][t];
        double* row = &learned.q[move.row];
        row[move.word] += knobs_.rate * (target - row[move.word]);
        const double best = *std::max_element(row, row + move.words);
        target = best + knobs_.trace * (target - best);
      }
    }
  }

  // The share of all told that were worse; half of those that were equal.
  static double reward_of(const Learned& learned, double loss) {
    if (loss == std::numeric_limits<double>::infinity()) return 0;
    const auto [equal, worse] =
        std::equal_range(learned.losses.begin(), learned.losses.end(), loss);
    const auto count =
        static_cast<double>(learned.losses.end() - worse) + static_cast<double>(worse - equal) / 2;
    return count / static_cast<double>(learned.losses.size());
  }

  const Rng rng_;
  const Knobs knobs_;
  Experience experience_;
  std::vector<std::vector<Move>> moves_;  // of every trial of the experience
  std::map<State, std::size_t> rows_;     // where each state's values begin
  std::size_t q_size_ = 0;
  Learning<Learned> learning_;
};

}  // namespace

Result<std::unique_ptr<Searcher>> make_qlearning(const Space& space,
                                                 const SearcherSettings& settings) {
  OptionReader options("qlearning", settings.options);
  const auto size = [&](std::string_view name, std::int64_t fallback, std::int64_t low,
                        std::int64_t high) {
    return static_cast<std::size_t>(options.whole(name, fallback, low, high));
  };
  const Knobs knobs{.bins = size("bins", 8, 2, 1'000),
                    .schedule = size("schedule", 60, 1, 1'000'000),
                    .replays = size("replays", 100, 1, 10'000),
                    .rate = options.real("rate", 0.1, 1e-6, 1),
                    .trace = options.real("trace", 0.8, 0, 1)};
  DETOL_TRY(options.done());
  return std::make_unique<QLearning>(space, settings, knobs);
}

}  // namespace detol
