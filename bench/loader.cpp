#include "bench/loader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "bench/networks.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "core/table.h"
#include "trainer/backends/cpu/backend.h"
#include "trainer/data/batches.h"
#include "trainer/data/feed.h"
#include "trainer/data/formats/packed.h"

namespace detol::inline bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoiseImages = 20000;
constexpr std::int64_t kLoaderBatch = 128;
constexpr int kAhead = 3;

double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Dataset noise_dataset() {
  Dataset data;
  data.info = {.task = {.input = {3, 32, 32}, .classes = 10}, .training = kNoiseImages};
  Rng rng(1);
  data.images.resize(static_cast<std::size_t>(kNoiseImages * data.info.task.input.elements()));
  for (std::uint8_t& pixel : data.images) pixel = static_cast<std::uint8_t>(rng.next());
  for (std::int64_t i = 0; i < kNoiseImages; ++i)
    data.labels.push_back(static_cast<std::int32_t>(rng.below(10)));
  data.mean = {0.49F, 0.48F, 0.45F};
  data.deviation = {0.25F, 0.24F, 0.26F};
  return data;
}

// Returns noise in a packed file, which is unlinked at once and exists as long as it is mapped.
Result<Dataset> mapped_noise() {
  std::error_code ignored;
  const fs::path path =
      fs::temp_directory_path(ignored) / ("detol-bench-" + std::to_string(::getpid()));
  DETOL_TRY(write_packed(noise_dataset(), 0.1, path));
  auto packed = read_packed(path);
  fs::remove(path, ignored);
  return packed.map([](Packed& read) { return std::move(read.data); });
}

// Returns the rate at which an epoch's batches are made, one after the other.
double loaded_images_per_second(const Dataset& data, const Recipe& recipe, int epoch) {
  Batches batches(data, recipe, 1);
  batches.start_epoch(epoch);
  const auto size = static_cast<std::size_t>(kLoaderBatch * data.info.task.input.elements());
  std::vector<float> images(size);
  std::vector<std::int32_t> labels(kLoaderBatch);
  batches.fill(0, {0, kLoaderBatch}, images, {labels});
  const double start = thread_seconds();
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step)
    batches.fill(step, {0, kLoaderBatch}, images, {labels});
  return static_cast<double>(batches.steps_per_epoch() * kLoaderBatch) / (thread_seconds() - start);
}

// Makes bytes of noise, as many as the network's images have.
Dataset noise_for(const Network& network) {
  Dataset data;
  data.info = {.task = {.input = network.input_shape(), .classes = 10}, .training = 2048};
  data.images.resize(static_cast<std::size_t>(2048 * data.info.task.input.elements()));
  Rng rng(1);
  for (std::uint8_t& pixel : data.images) pixel = static_cast<std::uint8_t>(rng.next());
  data.labels.resize(2048);
  data.mean.resize(static_cast<std::size_t>(data.info.task.input.channels), 0.5F);
  data.deviation.resize(data.mean.size(), 0.25F);
  return data;
}

// Seconds: CPU time of some steps, of the training thread alone and of all threads.
struct Seconds {
  double training = 0;
  double all = 0;
};

Seconds train(Executable& executable, Batches& batches, int ahead, int epoch) {
  Feed feed(batches, executable.micro_batches(), executable.targets(), ahead);
  feed.start_epoch(epoch, 0);
  const Seconds start{thread_seconds(), process_seconds()};
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
    feed.next(executable.images(), executable.targets());
    executable.train_step({.lr = 0.001});
  }
  return {thread_seconds() - start.training, process_seconds() - start.all};
}

void bench_ahead(Figures& figures, std::string_view name) {
  const std::string spare = fmt::format("ahead_spare/{}", name);
  const std::string full = fmt::format("ahead_full/{}", name);
  if (!figures.wants(spare) && !figures.wants(full)) return;
  const Network network = find_row(bench_networks(), name)->make();
  const Dataset data = noise_for(network);
  const Recipe recipe{.batch_size = 64, .crop_padding = 4, .horizontal_flip = true};
  const auto executable = compile_cpu(network, recipe, {}).value();
  executable->set_state({initial_weights(network, 1), {}});
  Batches batches(data, recipe, 1);
  train(*executable, batches, 0, 1);
  std::vector<double> of_training, of_all;
  for (int epoch = 1; epoch <= 11; ++epoch) {
    const Seconds without = train(*executable, batches, 0, epoch);
    const Seconds with = train(*executable, batches, kAhead, epoch);
    of_training.push_back(without.training / with.training);
    of_all.push_back(without.all / with.all);
  }
  figures.add(median_figure(spare, "times", of_training));
  figures.add(median_figure(full, "times", of_all));
}

}  // namespace

void bench_loader(Figures& figures) {
  constexpr std::string_view kName = "loader/augmented32", kAll = "loader/augmented32,all";
  for (std::string_view network : {"resnet8", "mlp"}) bench_ahead(figures, network);
  if (!figures.wants(kName) && !figures.wants(kAll)) return;
  const auto data = mapped_noise();
  if (!data) return log_warning("no figures of the loader: {}", data.error().message);
  Recipe recipe{.batch_size = kLoaderBatch, .crop_padding = 4, .horizontal_flip = true};
  int epoch = 0;
  const auto measure = [&] { return loaded_images_per_second(*data, recipe, ++epoch); };
  figures.measure(std::string(kName), "images/s", 11, measure);
  recipe.cutout = 8;
  figures.measure(std::string(kAll), "images/s", 11, measure);
}

}  // namespace detol::inline bench
