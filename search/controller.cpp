#include "search/controller.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace detol::inline search {
namespace {

constexpr std::size_t kHidden = 16;
constexpr double kSpread = 0.7;  // deviation, in actions, of the targets of an ordered action

// Adds a x to y.
void add(float a, const float* x, float* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] += a * x[i];
}

// Sums in eight lanes, which compilers turn into vector instructions.
float dot(const float* x, const float* y) {
  std::array<float, 8> sums{};
  for (std::size_t i = 0; i < kHidden; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// Computes tanh by one exponential, cheaper than std::tanh; the absolute error is float rounding
// at 1.
float fast_tanh(float x) {
  return 1 - 2 / (std::exp(2 * x) + 1);
}

void softmax(std::span<float> x) {
  const float top = *std::ranges::max_element(x);
  float sum = 0;
  for (float& value : x) sum += value = std::exp(value - top);
  for (float& value : x) value /= sum;
}

}  // namespace

// Activations of the forward pass, which the backward pass needs.
struct Controller::Activations {
  std::vector<std::array<float, kHidden>> hidden;  // after each decision
  std::vector<std::vector<float>> policies;
};

Controller::Controller(std::span<const std::size_t> actions, const std::vector<bool>& ordered,
                       Rng rng) {
  std::size_t end = kHidden * kHidden;
  const auto take = [&](std::size_t count) { return std::exchange(end, end + count); };
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::size_t n = actions[i];
    choices_.push_back({.actions = n,
                        .choice_bias = take(kHidden),
                        .embedding = take(n * kHidden),
                        .output = take(n * kHidden),
                        .bias = take(n),
                        .target = targets_.size()});
    for (std::size_t action = 0; action < n; ++action) {
      double sum = 0;
      std::vector<double> near(n);
      for (std::size_t other = 0; other < n; ++other) {
        const double away = (static_cast<double>(other) - static_cast<double>(action)) / kSpread;
        near[other] = ordered[i] ? std::exp(-away * away / 2) : (other == action ? 1.0 : 0.0);
        sum += near[other];
      }
      for (double share : near) targets_.push_back(static_cast<float>(share / sum));
    }
  }
  parameters_.assign(end, 0.0f);
  mean_ = square_ = parameters_;
  const auto draw = [&](std::size_t at, std::size_t count, double scale) {
    for (std::size_t i = 0; i < count; ++i)
      parameters_[at + i] = static_cast<float>(scale * rng.normal());
  };
  draw(0, kHidden * kHidden, 0.1);
  for (std::size_t i = 0; i < kHidden; ++i) parameters_[i * kHidden + i] += 0.8f;
  for (const Offsets& at : choices_) {
    draw(at.choice_bias, kHidden, 0.3);
    draw(at.embedding, at.actions * kHidden, 0.5);
  }
}

// Adds W column by column: column j is the effect of hidden unit j, and W is stored by columns.
void Controller::next_hidden(std::span<const float> hidden, std::size_t embedding,
                             const Offsets& at, std::span<float> next) const {
  const float* choice_bias = &parameters_[at.choice_bias];
  std::copy(choice_bias, choice_bias + kHidden, next.begin());
  if (embedding != kNoAction) add(1, &parameters_[embedding], next.data(), kHidden);
  for (std::size_t j = 0; j < kHidden; ++j)
    add(hidden[j], &parameters_[j * kHidden], next.data(), kHidden);
  for (float& value : next) value = fast_tanh(value);
}

void Controller::output(std::span<const float> hidden, const Offsets& at,
                        std::span<float> policy) const {
  for (std::size_t action = 0; action < at.actions; ++action) {
    policy[action] = parameters_[at.bias + action] +
                     dot(&parameters_[at.output + action * kHidden], hidden.data());
  }
  softmax(policy);
}

std::vector<float> Controller::forward_step(SequenceState& sequence, std::size_t choice) const {
  const Offsets& at = choices_[choice];
  std::vector<float> next(kHidden), policy(at.actions);
  sequence.hidden.resize(kHidden, 0.0f);
  next_hidden(sequence.hidden, sequence.embedding, at, next);
  sequence.hidden = std::move(next);
  output(sequence.hidden, at, policy);
  return policy;
}

void Controller::set_last_action(SequenceState& sequence, std::size_t choice,
                                 std::size_t action) const {
  sequence.embedding = choices_[choice].embedding + action * kHidden;
}

Controller::Activations Controller::forward(std::span<const Decision> decisions) const {
  Activations activations;
  activations.hidden.resize(decisions.size());
  std::array<float, kHidden> hidden{};
  std::size_t embedding = kNoAction;
  for (std::size_t t = 0; t < decisions.size(); ++t) {
    const Offsets& at = choices_[decisions[t].choice];
    next_hidden(hidden, embedding, at, activations.hidden[t]);
    hidden = activations.hidden[t];
    activations.policies.emplace_back(at.actions);
    output(hidden, at, activations.policies.back());
    embedding = at.embedding + decisions[t].action * kHidden;
  }
  return activations;
}

double Controller::likelihood_at(const Activations& activations, std::size_t t,
                                 const Decision& decision) const {
  const Offsets& at = choices_[decision.choice];
  const float* target = &targets_[at.target + decision.action * at.actions];
  double sum = 0;
  for (std::size_t action = 0; action < at.actions; ++action) {
    if (target[action] > 0)
      sum += target[action] * std::log(std::max(activations.policies[t][action], 1e-30f));
  }
  return sum;
}

std::vector<float> Controller::log_likelihood(std::span<const Decision> decisions) const {
  const Activations activations = forward(decisions);
  std::vector<float> result;
  for (std::size_t t = 0; t < decisions.size(); ++t)
    result.push_back(static_cast<float>(likelihood_at(activations, t, decisions[t])));
  return result;
}

// Returns the objective of one trajectory; `slopes`, if given, receives its derivatives by the
// logits.
double Controller::objective_of(const Activations& activations, const Trajectory& trajectory,
                                std::span<const float> before, const PpoSettings& ppo,
                                std::vector<std::vector<float>>* slopes) const {
  double objective = 0;
  for (std::size_t t = 0; t < trajectory.decisions.size(); ++t) {
    const Decision& decision = trajectory.decisions[t];
    const Offsets& at = choices_[decision.choice];
    const std::vector<float>& policy = activations.policies[t];
    if (slopes != nullptr) slopes->emplace_back(at.actions, 0.0f);
    if (!decision.counts || at.actions < 2) continue;
    const double ratio = std::exp(likelihood_at(activations, t, decision) - before[t]);
    const double limit = trajectory.advantage > 0 ? 1 + ppo.clip : 1 - ppo.clip;
    const double straight = ratio * trajectory.advantage, clipped = limit * trajectory.advantage;
    double entropy = 0;
    for (float p : policy) entropy -= p * std::log(std::max(p, 1e-30f));
    objective += std::min(straight, clipped) + ppo.entropy * entropy;
    if (slopes == nullptr) continue;
    const double push = straight < clipped ? straight : 0;
    const float* target = &targets_[at.target + decision.action * at.actions];
    for (std::size_t action = 0; action < at.actions; ++action) {
      const double p = policy[action];
      const double surprise = -std::log(std::max(p, 1e-30));
      slopes->back()[action] =
          static_cast<float>(push * (target[action] - p) + ppo.entropy * p * (surprise - entropy));
    }
  }
  return objective;
}

// Backpropagates through time: `above` is the derivative by h[t].
void Controller::backward(const Activations& activations, std::span<const Decision> decisions,
                          const std::vector<std::vector<float>>& slopes,
                          std::span<float> gradient) const {
  std::array<float, kHidden> above{};
  for (std::size_t t = decisions.size(); t-- > 0;) {
    const Offsets& at = choices_[decisions[t].choice];
    const std::array<float, kHidden>& hidden = activations.hidden[t];
    for (std::size_t action = 0; action < at.actions; ++action) {
      const float slope = slopes[t][action];
      gradient[at.bias + action] += slope;
      add(slope, hidden.data(), &gradient[at.output + action * kHidden], kHidden);
      add(slope, &parameters_[at.output + action * kHidden], above.data(), kHidden);
    }
    for (std::size_t i = 0; i < kHidden; ++i) above[i] *= 1 - hidden[i] * hidden[i];
    add(1, above.data(), &gradient[at.choice_bias], kHidden);
    if (t == 0) break;
    const std::size_t embedding = choices_[decisions[t - 1].choice].embedding;
    add(1, above.data(), &gradient[embedding + decisions[t - 1].action * kHidden], kHidden);
    std::array<float, kHidden> below{};
    for (std::size_t j = 0; j < kHidden; ++j) {
      add(activations.hidden[t - 1][j], above.data(), &gradient[j * kHidden], kHidden);
      below[j] = dot(&parameters_[j * kHidden], above.data());
    }
    above = below;
  }
}

double Controller::objective(std::span<const Trajectory> trajectories,
                             std::span<const std::vector<float>> before,
                             const PpoSettings& ppo) const {
  double sum = 0;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    sum +=
        objective_of(forward(trajectories[i].decisions), trajectories[i], before[i], ppo, nullptr);
  }
  return sum / static_cast<double>(trajectories.size());
}

std::vector<float> Controller::gradient(std::span<const Trajectory> trajectories,
                                        std::span<const std::vector<float>> before,
                                        const PpoSettings& ppo) const {
  std::vector<float> gradient(parameters_.size(), 0.0f);
  std::vector<std::vector<float>> slopes;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    const Activations activations = forward(trajectories[i].decisions);
    slopes.clear();
    objective_of(activations, trajectories[i], before[i], ppo, &slopes);
    backward(activations, trajectories[i].decisions, slopes, gradient);
  }
  for (float& value : gradient) value /= static_cast<float>(trajectories.size());
  return gradient;
}

void Controller::update(std::span<const Trajectory> trajectories, int epochs,
                        const PpoSettings& ppo) {
  std::vector<std::vector<float>> before;
  for (const Trajectory& trajectory : trajectories)
    before.push_back(log_likelihood(trajectory.decisions));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<float> slope = gradient(trajectories, before, ppo);
    ++steps_;
    const double warm1 = 1 - std::pow(0.9, steps_), warm2 = 1 - std::pow(0.999, steps_);
    const auto rate = static_cast<float>(ppo.learning_rate / warm1);
    const auto scale = static_cast<float>(1 / warm2);
    for (std::size_t i = 0; i < slope.size(); ++i) {
      mean_[i] = 0.9f * mean_[i] + 0.1f * slope[i];
      square_[i] = 0.999f * square_[i] + 0.001f * slope[i] * slope[i];
      parameters_[i] += rate * mean_[i] / (std::sqrt(scale * square_[i]) + 1e-8f);
    }
  }
}

}  // namespace detol::inline search
