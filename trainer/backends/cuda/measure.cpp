#include "trainer/backends/cuda/measure.h"

#include <algorithm>

#include "core/rng.h"
#include "trainer/backends/cuda/clock.h"
#include "trainer/backends/cuda/compiled.h"
#include "trainer/backends/cuda/resident.h"
#include "trainer/backends/weights.h"
#include "trainer/data/batches.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kMeasuredRounds = 5;
constexpr std::size_t kCopied = std::size_t{1} << 30;  // bytes of a copy, if they fit
constexpr std::int64_t kSide = 8192;                   // of a large matrix
constexpr std::int64_t kBatches = 8;                   // of the data set of noise
constexpr std::int64_t kStepsOfARun = 20;

// Returns the least of kMeasuredRounds timings, after one that is not counted.
template <typename Work>
double best_seconds(const Work& work) {
  Clock clock;
  clock.time(work);
  double least = clock.time(work);
  for (int round = 1; round < kMeasuredRounds; ++round) least = std::min(least, clock.time(work));
  return least;
}

std::size_t room() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for free memory");
  return free;
}

double bytes_per_second() {
  const std::size_t bytes = std::min(kCopied, room() / 8 / 256 * 256);
  const DeviceMemory from(bytes), to(bytes);
  set_to_zero(from.data(), bytes);
  const double seconds = best_seconds(
      [&] { copy(from.data(), to.data(), static_cast<std::int64_t>(bytes), device().stream); });
  return 2 * static_cast<double>(bytes) / seconds;
}

// Times a product of kSide x kSide matrices, or smaller ones that fit in memory, of random numbers.
double flops_per_second(const std::string& precision) {
  const Type type = precision == "bf16" ? Type::kBfloat16 : Type::kFloat;
  std::int64_t side = kSide;
  while (side > 64 && 4 * static_cast<std::size_t>(side * side) * size_of(type) > room()) side /= 2;
  const auto bytes = static_cast<std::size_t>(side * side) * size_of(type);
  const DeviceMemory a(bytes), b(bytes), c(bytes), row(static_cast<std::size_t>(side) * 4);
  std::vector<float> noise(static_cast<std::size_t>(side));
  Rng rng(1);
  for (float& value : noise) value = static_cast<float>(rng.uniform(-1, 1));
  to_device(row.data(), noise.data(), row.bytes());
  const std::size_t row_bytes = static_cast<std::size_t>(side) * size_of(type);
  for (const DeviceMemory* matrix : {&a, &b}) {
    from_floats(type, row.as<float>(), matrix->data(), side, device().stream);
    for (std::size_t filled = row_bytes; filled < bytes; filled *= 2)  // `side` is a power of two
      copy(matrix->data(), matrix->data() + filled, static_cast<std::int64_t>(filled),
           device().stream);
  }
  const Matmul product({.rows = side,
                        .columns = side,
                        .inner = side,
                        .type = type,
                        .result = type,
                        .tf32 = precision == "tf32"},
                       bytes);
  const DeviceMemory scratch(std::max<std::size_t>(product.scratch_bytes(), 256));
  const double seconds = best_seconds(
      [&] { product.run(a.data(), b.data(), c.data(), scratch.data(), device().stream); });
  const auto n = static_cast<double>(side);
  return 2 * n * n * n / seconds;
}

Dataset noise_for(const Network& network, const Recipe& recipe) {
  Dataset data;
  const Shape& input = network.input_shape();
  data.info.task = {.input = input, .classes = static_cast<int>(network.output().shape.channels)};
  data.info.training = kBatches * recipe.batch_size;
  data.info.fingerprint = 1;
  Rng rng(1);
  for (std::int64_t i = 0; i < data.info.training * input.elements(); ++i)
    data.images.push_back(static_cast<std::uint8_t>(rng.below(256)));
  for (std::int64_t i = 0; i < data.info.training; ++i)
    data.labels.push_back(static_cast<std::int32_t>(
        rng.below(static_cast<std::uint64_t>(network.output().shape.channels))));
  data.mean.assign(static_cast<std::size_t>(input.channels), 0.5F);
  data.deviation.assign(static_cast<std::size_t>(input.channels), 0.3F);
  return data;
}

// Returns the mean seconds per step of each run; a first run is not counted.
std::vector<double> step_seconds(Resident& resident, const Dataset& data, const Recipe& recipe,
                                 int runs) {
  Batches batches(data, recipe, 1);
  const std::span<const EpochImage> epoch = batches.images_of(1);
  std::vector<EpochImage> images;
  std::vector<StepSettings> settings;
  for (std::int64_t step = 0; step < kStepsOfARun; ++step) {
    const auto first = epoch.begin() + step % batches.steps_per_epoch() * recipe.batch_size;
    images.insert(images.end(), first, first + recipe.batch_size);
    settings.push_back({.lr = 1e-3, .step = step});
  }
  Clock clock;
  std::vector<double> seconds;
  for (int run = -1; run < runs; ++run) {
    resident.begin(images, settings);
    wait();
    const double all = clock.time([&] {
      for (std::int64_t step = 0; step < kStepsOfARun; ++step) resident.step();
    });
    if (run >= 0) seconds.push_back(all / static_cast<double>(kStepsOfARun));
  }
  return seconds;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<NodeSeconds> node_seconds(Compiled& compiled, std::size_t nodes, int runs) {
  std::vector<std::vector<NodeSeconds>> all;
  for (int run = -1; run < runs; ++run) {
    std::vector<NodeSeconds> one(nodes);
    compiled.time_step(one);
    if (run >= 0) all.push_back(std::move(one));
  }
  std::vector<NodeSeconds> medians;
  for (std::size_t node = 0; node < nodes; ++node) {
    std::vector<double> forward, backward;
    for (const auto& one : all) {
      forward.push_back(one[node].forward);
      backward.push_back(one[node].backward);
    }
    medians.push_back({median(forward), median(backward)});
  }
  return medians;
}

}  // namespace

DevicePeaks peaks(const std::string& precision) {
  return {bytes_per_second(), flops_per_second(precision)};
}

Result<NetworkSeconds> time_network(const Network& network, const Recipe& recipe, int runs) {
  const Dataset data = noise_for(network, recipe);
  Compiled compiled(network, recipe, {});
  DETOL_TRY(compiled.compile(network));
  compiled.builder().parameters().set_state({initial_weights(network, 1), {}});
  Resident resident(compiled, std::make_shared<const DeviceData>(
                                  data, TargetForm{compiled.outputs(), compiled.takes_labels()}));
  NetworkSeconds seconds;
  seconds.steps = step_seconds(resident, data, recipe, runs);
  seconds.nodes = node_seconds(compiled, network.nodes().size(), runs);
  return seconds;
}

}  // namespace detol::inline trainer::cuda
