// Times the engines of cuDNN for each convolution, where training.deterministic is false.
//
// The convolutions of a network are found by lowering it and throwing the result away. Each
// direction of a shape is timed by itself on noise, in rounds over the algorithms, so that what
// disturbs the device disturbs all of them; an algorithm's time is the least of its rounds, each a
// run of a few calls between two events. The fixed rule's algorithm is replaced only by one
// that is clearly faster.

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "trainer/backends/cuda/backend.h"
#include "trainer/backends/cuda/clock.h"
#include "trainer/backends/cuda/compiled.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kRounds = 3, kCalls = 5;
constexpr double kClearly = 0.95;  // of the time of the rule's algorithm

// Returns the tunable convolutions of a network, each shape once.
Result<std::vector<TunableConv>> tunable_convs_of(const Network& network, const Recipe& recipe,
                                                  const Placement& placement) {
  const AlgorithmChoices none;
  Placement with_choices = placement;
  with_choices.choices = placement.choices != nullptr ? placement.choices : &none;
  DETOL_ASSIGN(const auto convs,
               Compiled(network, recipe, with_choices).find_tunable_convs(network));
  std::vector<TunableConv> all;
  std::set<std::string> keys;
  for (const TunableConv& one : convs) {
    if (keys.insert(one.candidates.key).second) all.push_back(one);
  }
  return all;
}

std::size_t bytes(Type type, std::int64_t count) {
  return static_cast<std::size_t>(count) * size_of(type);
}

// Noise is used since arithmetic takes as long for it as for images, but less long for zeros.
void fill_with_noise(const DeviceMemory& memory, Type type) {
  std::vector<float> noise(1 << 12);
  std::uint32_t word = 1;
  for (float& value : noise) {
    word = word * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(word) / 4294967296.0 - 0.5) * 0.1F;
  }
  const DeviceMemory drawn(noise.size() * sizeof(float));
  to_device(drawn.data(), noise.data(), drawn.bytes());
  const std::size_t all = memory.bytes() / size_of(type);
  for (std::size_t at = 0; at < all; at += noise.size()) {
    const auto count = static_cast<std::int64_t>(std::min(noise.size(), all - at));
    from_floats(type, drawn.as<float>(), memory.data() + at * size_of(type), count,
                device().stream);
  }
  wait();
}

TimedShape time_candidates(const TunableConv& conv, const std::function<void()>& on_progress) {
  const ConvShape& s = conv.shape;
  const DeviceMemory x(bytes(s.type, s.images * s.height * s.width * s.inputs));
  const DeviceMemory y(bytes(s.type, s.images * s.out_height * s.out_width * s.outputs));
  const DeviceMemory w(
      bytes(s.type, s.outputs * s.kernel_height * s.kernel * (s.inputs / s.groups)));
  for (const DeviceMemory* memory : {&x, &y, &w}) fill_with_noise(*memory, s.type);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TimedShape timed{conv.candidates.key, {}, {}};
  for (const std::string& algorithm : conv.candidates.algorithms)
    timed.seconds.emplace_back(algorithm, kInfinity);
  Clock clock;
  for (int round = 0; round < kRounds; ++round) {
    for (auto& [algorithm, seconds] : timed.seconds) {
      const ConvPlan* plan = plan_of(s, algorithm, 0);
      const DeviceMemory scratch(std::max<std::size_t>(plan->scratch_bytes(), 16));
      const auto run = [&] { plan->run(x.data(), w.data(), y.data(), scratch.data()); };
      if (round == 0) run();  // warm-up: the library loads its code
      const double now = clock.time([&] {
        for (int call = 0; call < kCalls; ++call) run();
      });
      seconds = std::min(seconds, now / kCalls);
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

Result<std::vector<AlgorithmCandidates>> list_algorithms(const Network& network,
                                                         const Recipe& recipe,
                                                         const Placement& placement) {
  DETOL_ASSIGN(const auto convs, tunable_convs_of(network, recipe, placement));
  std::vector<AlgorithmCandidates> choices;
  for (const TunableConv& one : convs) choices.push_back(one.candidates);
  return choices;
}

Result<std::vector<TimedShape>> time_algorithms(const Network& network, const Recipe& recipe,
                                                const Placement& placement,
                                                const std::function<void()>& on_progress) {
  DETOL_ASSIGN(const auto convs, tunable_convs_of(network, recipe, placement));
  std::vector<TimedShape> timed;
  for (const TunableConv& one : convs) {
    if (placement.choices->find(one.candidates.key) == nullptr)
      timed.push_back(time_candidates(one, on_progress));
  }
  return timed;
}

}  // namespace detol::inline trainer::cuda
