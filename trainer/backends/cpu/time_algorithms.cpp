// Times the algorithms of each shape, where training.deterministic is false.
//
// A lowering calls choose_algorithm(). The tunable passes of a network are found by lowering it and
// discarding the result: some milliseconds, and what it compiled stays in the cache. Each shape is
// timed as a separate unit, with noise as input and gradient, direction by direction where each has
// its own choice, in rounds over the algorithms, so that a disturbance of the machine affects all
// of them; an algorithm's time is the least of its runs, in CPU seconds. The fixed rule's algorithm
// is replaced only by one that is clearly faster. Price: six runs of each algorithm, two of one
// that is far slower.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <set>
#include <span>
#include <utility>

#include "core/clock.h"
#include "core/rng.h"
#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/cpu/onednn.h"
#include "trainer/backends/weights.h"

namespace detol::inline trainer {
namespace onednn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// kHopeful limits each round to algorithms whose best run took at most this multiple of the best of
// all.
constexpr std::array kHopeful = {kInfinity, 1.3, 1.1};
constexpr double kHopeless = 1.6;  // times the best: no second run
constexpr int kRuns = 2;           // of an algorithm per round: the first may generate its code
constexpr int kMostRuns = 10;      // of algorithms whose runs together take
constexpr double kShort = 5e-4;    // less than this, in seconds
constexpr double kClearly = 0.95;  // of the time of the rule's algorithm

// kPasses is in the order of Pass.
constexpr std::array kPasses = {"", " forward", " data", " weights"};

// "onednn avx2 conv weights 64x16x32x32 to 16, window 3x3": the gradient of the weights.
std::string key_of(std::string_view kind, Pass pass, const Layer& layer, const Value& x,
                   std::int64_t images) {
  std::string key = fmt::format(
      "onednn {} {}{} {}x{} to {}", machine().lanes() == 16 ? "avx512" : "avx2", kind,
      kPasses[static_cast<std::size_t>(pass)], images, to_text(x.shape), layer.channels);
  if (layer.kind == LayerKind::kConv)
    key += fmt::format(", window {}x{}", height_of(layer), layer.kernel);
  const auto add = [&](std::string_view name, std::int64_t is) {
    if (is != 1) key += fmt::format(", {} {}", name, is);
  };
  add("stride", layer.stride);
  add("groups", layer.groups);
  add("dilation", layer.dilation);
  if (layer.bias) key += ", bias";
  if (x.layout == kPlain) key += ", plain";
  if (!x.needs_gradient) key += ", first";
  return key;
}

// Returns the tunable passes of a network, each shape once.
Result<std::vector<TunablePass>> tunable_passes_of(const Network& network, const Recipe& recipe,
                                                   const Placement& placement) {
  const AlgorithmChoices none;
  Placement with_choices = placement;
  if (with_choices.choices == nullptr) with_choices.choices = &none;
  Builder builder(network, recipe, with_choices);
  builder.make_value(0, kPlain, false);
  for (const Unit& unit : plan_units(network)) DETOL_TRY(lower_unit(builder, unit));
  std::vector<TunablePass> all;
  std::set<std::string> keys;
  for (const TunablePass& one : builder.tunable_passes()) {
    if (keys.insert(one.candidates.key).second) all.push_back(one);
  }
  return all;
}

// Fills with noise, on which arithmetic takes as long as on pictures. It is small, so that sums of
// many products stay moderate.
void fill_with_noise(std::span<float> values) {
  static const auto kNoise = [] {
    std::array<float, 1024> drawn{};
    Rng rng(1);
    for (float& value : drawn) value = 0.05f * static_cast<float>(rng.normal());
    return drawn;
  }();
  for (; !values.empty(); values = values.subspan(std::min(values.size(), kNoise.size())))
    std::copy_n(kNoise.begin(), std::min(values.size(), kNoise.size()), values.begin());
}

void fill_with_noise(const Buffer* buffer) {
  fill_with_noise({buffer->as<float>(), buffer->bytes / sizeof(float)});
}

Weights noisy_weights(const Network& network) {
  Weights weights;
  for (const NetworkParameter& parameter : network.parameters()) {
    const auto floats = static_cast<std::size_t>(parameter.spec.elements());
    weights.push_back({parameter.name, parameter.spec.shape, std::vector<float>(floats)});
    fill_with_noise(weights.back().data);
  }
  return weights;
}

Network network_of(const Shape& input, const Layer& layer) {
  NetworkBuilder builder(input);
  return builder.build(builder.add(layer, {builder.input()})).value();
}

// Returns the least time of a separate unit with one algorithm; the first time if that exceeds
// `hopeless`.
Result<double> seconds_of(const TunablePass& tunable, const Layer& layer, std::int64_t images,
                          const std::string& algorithm, double hopeless) {
  const Network network = network_of(tunable.shape, layer);
  const AlgorithmChoices choices{{{tunable.candidates.key, algorithm}}};
  Builder builder(network, {.batch_size = images}, {.choices = &choices});
  const Value& x = builder.make_value(0, tunable.layout, tunable.needs_gradient);
  DETOL_TRY(lower_unit(builder, {.node = 1, .output = 1, .addend = {}}));
  Value& y = builder.value(1);
  Buffer* const gradient = builder.add_gradient(y);
  for (Buffer* buffer : {x.data, y.data, gradient}) {
    builder.arena().use(buffer, -1);
    builder.arena().use(buffer, Arena::kAlways);
  }
  builder.lower_backward();
  builder.place();
  builder.parameters().set_state({noisy_weights(network), {}});
  fill_with_noise(x.data);
  fill_with_noise(gradient);
  double least = kInfinity;
  const double begun = thread_seconds();
  double before = begun;
  for (int i = 0; i < kRuns || (i < kMostRuns && before - begun < kShort); ++i) {
    builder.run(tunable.pass, {true, {}, {0, images}});
    const double after = thread_seconds();
    least = std::min(least, after - std::exchange(before, after));
    if (least > hopeless && tunable.pass != Pass::kAll) break;
  }
  return least;
}

// Times the algorithms that may still win, round by round.
Result<TimedShape> time_candidates(const TunablePass& tunable, const Layer& layer,
                                   std::int64_t images, const std::function<void()>& on_progress) {
  TimedShape timed{tunable.candidates.key, {}, {}};
  for (const std::string& algorithm : tunable.candidates.algorithms)
    timed.seconds.emplace_back(algorithm, kInfinity);
  double best = kInfinity;
  for (const double hopeful : kHopeful) {
    const auto may_win = [&, limit = hopeful * best](const auto& timing) {
      return timing.second <= limit;
    };
    if (std::ranges::count_if(timed.seconds, may_win) == 1) break;
    for (auto& timing : timed.seconds) {
      if (!may_win(timing)) continue;
      DETOL_ASSIGN(const double now,
                   seconds_of(tunable, layer, images, timing.first, kHopeless * best));
      timing.second = std::min(timing.second, now);
      best = std::min(best, timing.second);
      on_progress();
    }
  }
  const auto fastest =
      std::ranges::min_element(timed.seconds, {}, [](const auto& timing) { return timing.second; });
  const auto& rule = timed.seconds.front();
  timed.algorithm = fastest->second < kClearly * rule.second ? fastest->first : rule.first;
  return timed;
}

}  // namespace

Result<std::string> Builder::choose_algorithm(NodeId node, std::string_view kind, Pass pass,
                                              std::vector<std::string> algorithms) {
  if (choices_ == nullptr) return algorithms.front();
  const Value& x = value(this->node(node).inputs[0]);
  std::string key = key_of(kind, pass, this->node(node).layer, x, largest_batch());
  const std::string* chosen = choices_->find(key);
  const std::string algorithm = chosen != nullptr ? *chosen : algorithms.front();
  if (std::ranges::find(algorithms, algorithm) == algorithms.end()) {
    return fail(ErrorCode::kInternal,
                fmt::format("'{}' was chosen for '{}', which this program does not know there; "
                            "resume with the program that began the study",
                            algorithm, key));
  }
  tunable_passes_.push_back(
      {{std::move(key), std::move(algorithms)}, node, pass, x.shape, x.layout, x.needs_gradient});
  return algorithm;
}

}  // namespace onednn

Result<std::vector<AlgorithmCandidates>> list_algorithms_onednn(const Network& network,
                                                                const Recipe& recipe,
                                                                const Placement& placement) {
  return onednn::caught([&]() -> Result<std::vector<AlgorithmCandidates>> {
    DETOL_ASSIGN(const auto passes, onednn::tunable_passes_of(network, recipe, placement));
    std::vector<AlgorithmCandidates> choices;
    for (const onednn::TunablePass& one : passes) choices.push_back(one.candidates);
    return choices;
  });
}

Result<std::vector<TimedShape>> time_algorithms_onednn(const Network& network, const Recipe& recipe,
                                                       const Placement& placement,
                                                       const std::function<void()>& on_progress) {
  return onednn::caught([&]() -> Result<std::vector<TimedShape>> {
    DETOL_ASSIGN(const auto passes, onednn::tunable_passes_of(network, recipe, placement));
    const std::int64_t images = micro_batches_of(recipe.batch_size, placement).front().count;
    std::vector<TimedShape> timed;
    for (const onednn::TunablePass& one : passes) {
      if (placement.choices->find(one.candidates.key) != nullptr) continue;
      const Layer& layer = network.nodes()[one.node].layer;
      DETOL_ASSIGN(TimedShape choice, onednn::time_candidates(one, layer, images, on_progress));
      timed.push_back(std::move(choice));
    }
    return timed;
  });
}

}  // namespace detol::inline trainer
