#pragma once

// Controller: the policy of `reinforce`, a small recurrent network from which a sequence of actions
// is sampled and which PPO updates. search/reinforce.cpp explains how it is used.
//
//   h[t] = tanh(choice_bias[choice t] + embedding[action t-1] + W h[t-1])   one per decision
//   policy = softmax(V[choice t] h[t] + b[choice t])                        over its actions
//
// V and b start at zero: a new controller draws uniformly. A value type; not thread-safe.

#include <optional>
#include <span>
#include <vector>

#include "core/rng.h"
#include "search/decisions.h"

namespace detol::inline search {

// Trajectory: a sequence of decisions and its advantage over the usual outcome (below 0: worse).
struct Trajectory {
  std::span<const Decision> decisions;
  double advantage;
};

struct PpoSettings {
  double clip = 0.3;            // a probability changes by at most this share in one update
  double entropy = 0.03;        // coefficient of the entropy bonus
  double learning_rate = 0.03;  // Adam's
};

class Controller {
 public:
  // `actions[i]` is the number of actions of choice i. Neighbouring actions of an `ordered` choice
  // share part of what is learned about either.
  Controller(std::span<const std::size_t> actions, const std::vector<bool>& ordered, Rng rng);

  // SequenceState: the network's state in the middle of a sequence.
  struct SequenceState {
    std::vector<float> hidden;
    std::size_t embedding = kNoAction;
  };

  // Returns the policy of the next decision, which is about `choice`.
  std::vector<float> forward_step(SequenceState& sequence, std::size_t choice) const;
  // Makes the action sampled from that policy the input of the next step.
  void set_last_action(SequenceState& sequence, std::size_t choice, std::size_t action) const;

  // Returns the log-likelihood of every decision under the current policy.
  std::vector<float> log_likelihood(std::span<const Decision> decisions) const;

  // objective() is PPO's clipped objective with the entropy bonus, which update() maximises, and
  // gradient() its gradient in the order of parameters(). `before[i]` is the log_likelihood() of
  // trajectory i when the update began.
  double objective(std::span<const Trajectory> trajectories,
                   std::span<const std::vector<float>> before, const PpoSettings& ppo) const;
  std::vector<float> gradient(std::span<const Trajectory> trajectories,
                              std::span<const std::vector<float>> before,
                              const PpoSettings& ppo) const;

  // Takes `epochs` steps of Adam up the mean objective of the trajectories.
  void update(std::span<const Trajectory> trajectories, int epochs, const PpoSettings& ppo);

  std::span<float> parameters() { return parameters_; }

 private:
  static constexpr std::size_t kNoAction = static_cast<std::size_t>(-1);
  struct Offsets {
    std::size_t actions;      // of this choice
    std::size_t choice_bias;  // kHidden
    std::size_t embedding;    // actions x kHidden
    std::size_t output;       // V: actions x kHidden
    std::size_t bias;         // b: actions
    std::size_t target;       // in targets_: actions x actions
  };
  struct Activations;

  void next_hidden(std::span<const float> hidden, std::size_t embedding, const Offsets& at,
                   std::span<float> next) const;
  void output(std::span<const float> hidden, const Offsets& at, std::span<float> policy) const;
  Activations forward(std::span<const Decision> decisions) const;
  double objective_of(const Activations& activations, const Trajectory& trajectory,
                      std::span<const float> before, const PpoSettings& ppo,
                      std::vector<std::vector<float>>* slopes) const;
  void backward(const Activations& activations, std::span<const Decision> decisions,
                const std::vector<std::vector<float>>& slopes, std::span<float> gradient) const;
  double likelihood_at(const Activations& activations, std::size_t t,
                       const Decision& decision) const;

  std::vector<Offsets> choices_;
  std::vector<float> targets_;        // for each action, the weights of actions that learn from it
  std::vector<float> parameters_;     // W (kHidden x kHidden), then the choices'
  std::vector<float> mean_, square_;  // Adam's moments
  int steps_ = 0;
};

}  // namespace detol::inline search
