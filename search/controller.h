#pragma once

// Controller: a small recurrent network that says a sequence of words, and learns which are
// worth saying: the policy of `reinforce`, which tells how it is used.
//
//   h[t] = tanh(place[choice t] + said[word t-1] + W h[t-1])      one for each decision
//   policy = softmax(V[choice t] h[t] + b[choice t])              over the words of the choice
//
// V and b start at zero: a new controller draws uniformly. A value type; not thread-safe.

#include <optional>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/decisions.h"

namespace detol {

// A sequence of decisions and how much better (or worse, below 0) than usual it turned out.
struct Lesson {
  std::span<const Decision> decisions;
  double advantage;
};

struct Teaching {
  double clip = 0.3;            // a probability moves by at most this share in one update
  double entropy = 0.03;        // the price of being sure
  double learning_rate = 0.03;  // of Adam
};

class Controller {
 public:
  // `words`: how many each choice has. Of an `ordered` choice, what is learned about one word
  // is learned in part about its neighbours.
  Controller(std::span<const std::size_t> words, const std::vector<bool>& ordered, Rng rng);

  // Where a sequence stands.
  struct Sentence {
    std::vector<float> hidden;
    std::size_t said = kNothing;
  };

  // The policy of the next decision, which is about `choice`, and the choice's answer.
  std::vector<float> think(Sentence& sentence, std::size_t choice) const;
  void say(Sentence& sentence, std::size_t choice, std::size_t word) const;

  // The log-likelihood of every decision under the policy now.
  std::vector<float> log_likelihood(std::span<const Decision> decisions) const;

  // What learn() climbs, and its gradient, in the order of parameters(). `before[i]` is the
  // log_likelihood of lesson i when the update began.
  double gain(std::span<const Lesson> lessons, std::span<const std::vector<float>> before,
              const Teaching& teaching) const;
  std::vector<float> gradient(std::span<const Lesson> lessons,
                              std::span<const std::vector<float>> before,
                              const Teaching& teaching) const;

  // One update: `epochs` steps of Adam up the gain of all lessons.
  void learn(std::span<const Lesson> lessons, int epochs, const Teaching& teaching);

  std::span<float> parameters() { return parameters_; }

 private:
  static constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
  struct Offsets {
    std::size_t words;   // of this choice
    std::size_t place;   // kHidden
    std::size_t said;    // words x kHidden
    std::size_t answer;  // V: words x kHidden
    std::size_t bias;    // b: words
    std::size_t target;  // in targets_: words x words
  };
  struct Pass;

  void step(std::span<const float> hidden, std::size_t said, const Offsets& at,
            std::span<float> next) const;
  void answer(std::span<const float> hidden, const Offsets& at, std::span<float> policy) const;
  Pass forward(std::span<const Decision> decisions) const;
  double gain_of(const Pass& pass, const Lesson& lesson, std::span<const float> before,
                 const Teaching& teaching, std::vector<std::vector<float>>* slopes) const;
  void backward(const Pass& pass, std::span<const Decision> decisions,
                const std::vector<std::vector<float>>& slopes, std::span<float> gradient) const;
  double likelihood_at(const Pass& pass, std::size_t t, const Decision& decision) const;

  std::vector<Offsets> choices_;
  std::vector<float> targets_;        // of each word, the words that share its outcome
  std::vector<float> parameters_;     // W (kHidden x kHidden), then the choices'
  std::vector<float> mean_, square_;  // Adam's
  int steps_ = 0;
};

}  // namespace detol
