#include "search/controller.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace detol {
namespace {

constexpr std::size_t kHidden = 16;
constexpr double kSpread = 0.7;  // words: how far the outcome of an ordered word reaches

// y += a x
void add(float a, const float* x, float* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] += a * x[i];
}

// Eight sums side by side, which is what a vector unit can do.
float dot(const float* x, const float* y) {
  std::array<float, 8> sums{};
  for (std::size_t i = 0; i < kHidden; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// tanh, by one exponential, which is cheaper than std::tanh. Near 0 its error is that of 1.
float squash(float x) {
  return 1 - 2 / (std::exp(2 * x) + 1);
}

void softmax(std::span<float> x) {
  const float top = *std::ranges::max_element(x);
  float sum = 0;
  for (float& value : x) sum += value = std::exp(value - top);
  for (float& value : x) value /= sum;
}

}  // namespace

// What a forward pass leaves for the backward pass.
struct Controller::Pass {
  std::vector<std::array<float, kHidden>> hidden;  // after each decision's thought
  std::vector<std::vector<float>> policies;
};

Controller::Controller(std::span<const std::size_t> words, const std::vector<bool>& ordered,
                       Rng rng) {
  std::size_t end = kHidden * kHidden;
  const auto take = [&](std::size_t count) { return std::exchange(end, end + count); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t n = words[i];
    choices_.push_back({.words = n,
                        .place = take(kHidden),
                        .said = take(n * kHidden),
                        .answer = take(n * kHidden),
                        .bias = take(n),
                        .target = targets_.size()});
    for (std::size_t word = 0; word < n; ++word) {
      double sum = 0;
      std::vector<double> near(n);
      for (std::size_t other = 0; other < n; ++other) {
        const double away = (static_cast<double>(other) - static_cast<double>(word)) / kSpread;
        near[other] = ordered[i] ? std::exp(-away * away / 2) : (other == word ? 1.0 : 0.0);
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
    draw(at.place, kHidden, 0.3);
    draw(at.said, at.words * kHidden, 0.5);
  }
}

// Column j of W is what hidden unit j does to all: W is stored by columns.
void Controller::step(std::span<const float> hidden, std::size_t said, const Offsets& at,
                      std::span<float> next) const {
  const float* place = &parameters_[at.place];
  std::copy(place, place + kHidden, next.begin());
  if (said != kNothing) add(1, &parameters_[said], next.data(), kHidden);
  for (std::size_t j = 0; j < kHidden; ++j)
    add(hidden[j], &parameters_[j * kHidden], next.data(), kHidden);
  for (float& value : next) value = squash(value);
}

void Controller::answer(std::span<const float> hidden, const Offsets& at,
                        std::span<float> policy) const {
  for (std::size_t word = 0; word < at.words; ++word) {
    policy[word] =
        parameters_[at.bias + word] + dot(&parameters_[at.answer + word * kHidden], hidden.data());
  }
  softmax(policy);
}

std::vector<float> Controller::think(Sentence& sentence, std::size_t choice) const {
  const Offsets& at = choices_[choice];
  std::vector<float> next(kHidden), policy(at.words);
  sentence.hidden.resize(kHidden, 0.0f);
  step(sentence.hidden, sentence.said, at, next);
  sentence.hidden = std::move(next);
  answer(sentence.hidden, at, policy);
  return policy;
}

void Controller::say(Sentence& sentence, std::size_t choice, std::size_t word) const {
  sentence.said = choices_[choice].said + word * kHidden;
}

Controller::Pass Controller::forward(std::span<const Decision> decisions) const {
  Pass pass;
  pass.hidden.resize(decisions.size());
  std::array<float, kHidden> hidden{};
  std::size_t said = kNothing;
  for (std::size_t t = 0; t < decisions.size(); ++t) {
    const Offsets& at = choices_[decisions[t].choice];
    step(hidden, said, at, pass.hidden[t]);
    hidden = pass.hidden[t];
    pass.policies.emplace_back(at.words);
    answer(hidden, at, pass.policies.back());
    said = at.said + decisions[t].word * kHidden;
  }
  return pass;
}

double Controller::likelihood_at(const Pass& pass, std::size_t t, const Decision& decision) const {
  const Offsets& at = choices_[decision.choice];
  const float* target = &targets_[at.target + decision.word * at.words];
  double sum = 0;
  for (std::size_t word = 0; word < at.words; ++word) {
    if (target[word] > 0) sum += target[word] * std::log(std::max(pass.policies[t][word], 1e-30f));
  }
  return sum;
}

std::vector<float> Controller::log_likelihood(std::span<const Decision> decisions) const {
  const Pass pass = forward(decisions);
  std::vector<float> result;
  for (std::size_t t = 0; t < decisions.size(); ++t)
    result.push_back(static_cast<float>(likelihood_at(pass, t, decisions[t])));
  return result;
}

// Of one lesson; `slopes`, if given, receives its derivatives by the softmax' inputs.
double Controller::gain_of(const Pass& pass, const Lesson& lesson, std::span<const float> before,
                           const Teaching& teaching,
                           std::vector<std::vector<float>>* slopes) const {
  double gain = 0;
  for (std::size_t t = 0; t < lesson.decisions.size(); ++t) {
    const Decision& decision = lesson.decisions[t];
    const Offsets& at = choices_[decision.choice];
    const std::vector<float>& policy = pass.policies[t];
    if (slopes != nullptr) slopes->emplace_back(at.words, 0.0f);
    if (!decision.counts || at.words < 2) continue;
    const double ratio = std::exp(likelihood_at(pass, t, decision) - before[t]);
    const double limit = lesson.advantage > 0 ? 1 + teaching.clip : 1 - teaching.clip;
    const double straight = ratio * lesson.advantage, clipped = limit * lesson.advantage;
    double entropy = 0;
    for (float p : policy) entropy -= p * std::log(std::max(p, 1e-30f));
    gain += std::min(straight, clipped) + teaching.entropy * entropy;
    if (slopes == nullptr) continue;
    const double push = straight < clipped ? straight : 0;
    const float* target = &targets_[at.target + decision.word * at.words];
    for (std::size_t word = 0; word < at.words; ++word) {
      const double p = policy[word];
      const double surprise = -std::log(std::max(p, 1e-30));
      slopes->back()[word] = static_cast<float>(push * (target[word] - p) +
                                                teaching.entropy * p * (surprise - entropy));
    }
  }
  return gain;
}

// Back through time: `above` is the derivative by h[t].
void Controller::backward(const Pass& pass, std::span<const Decision> decisions,
                          const std::vector<std::vector<float>>& slopes,
                          std::span<float> gradient) const {
  std::array<float, kHidden> above{};
  for (std::size_t t = decisions.size(); t-- > 0;) {
    const Offsets& at = choices_[decisions[t].choice];
    const std::array<float, kHidden>& hidden = pass.hidden[t];
    for (std::size_t word = 0; word < at.words; ++word) {
      const float slope = slopes[t][word];
      gradient[at.bias + word] += slope;
      add(slope, hidden.data(), &gradient[at.answer + word * kHidden], kHidden);
      add(slope, &parameters_[at.answer + word * kHidden], above.data(), kHidden);
    }
    for (std::size_t i = 0; i < kHidden; ++i) above[i] *= 1 - hidden[i] * hidden[i];
    add(1, above.data(), &gradient[at.place], kHidden);
    if (t == 0) break;
    const std::size_t said = choices_[decisions[t - 1].choice].said;
    add(1, above.data(), &gradient[said + decisions[t - 1].word * kHidden], kHidden);
    std::array<float, kHidden> below{};
    for (std::size_t j = 0; j < kHidden; ++j) {
      add(pass.hidden[t - 1][j], above.data(), &gradient[j * kHidden], kHidden);
      below[j] = dot(&parameters_[j * kHidden], above.data());
    }
    above = below;
  }
}

double Controller::gain(std::span<const Lesson> lessons, std::span<const std::vector<float>> before,
                        const Teaching& teaching) const {
  double sum = 0;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    sum += gain_of(forward(lessons[i].decisions), lessons[i], before[i], teaching, nullptr);
  }
  return sum / static_cast<double>(lessons.size());
}

std::vector<float> Controller::gradient(std::span<const Lesson> lessons,
                                        std::span<const std::vector<float>> before,
                                        const Teaching& teaching) const {
  std::vector<float> gradient(parameters_.size(), 0.0f);
  std::vector<std::vector<float>> slopes;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const Pass pass = forward(lessons[i].decisions);
    slopes.clear();
    gain_of(pass, lessons[i], before[i], teaching, &slopes);
    backward(pass, lessons[i].decisions, slopes, gradient);
  }
  for (float& value : gradient) value /= static_cast<float>(lessons.size());
  return gradient;
}

void Controller::learn(std::span<const Lesson> lessons, int epochs, const Teaching& teaching) {
  std::vector<std::vector<float>> before;
  for (const Lesson& lesson : lessons) before.push_back(log_likelihood(lesson.decisions));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<float> slope = gradient(lessons, before, teaching);
    ++steps_;
    const double warm1 = 1 - std::pow(0.9, steps_), warm2 = 1 - std::pow(0.999, steps_);
    const auto rate = static_cast<float>(teaching.learning_rate / warm1);
    const auto scale = static_cast<float>(1 / warm2);
    for (std::size_t i = 0; i < slope.size(); ++i) {
      mean_[i] = 0.9f * mean_[i] + 0.1f * slope[i];
      square_[i] = 0.999f * square_[i] + 0.001f * slope[i] * slope[i];
      parameters_[i] += rate * mean_[i] / (std::sqrt(scale * square_[i]) + 1e-8f);
    }
  }
}

}  // namespace detol
