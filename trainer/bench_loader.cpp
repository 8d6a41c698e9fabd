#include "trainer/bench_loader.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "core/log.h"
#include "core/rng.h"
#include "trainer/data/batches.h"
#include "trainer/data/packed.h"
#include "trainer/peak.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kImages = 20000;
constexpr std::int64_t kBatch = 128;

Dataset noise() {
  Dataset data;
  data.info = {.task = {.input = {3, 32, 32}, .classes = 10}, .training = kImages};
  Rng rng(1);
  data.images.resize(static_cast<std::size_t>(kImages * data.info.task.input.elements()));
  for (std::uint8_t& pixel : data.images) pixel = static_cast<std::uint8_t>(rng.next());
  for (std::int64_t i = 0; i < kImages; ++i)
    data.labels.push_back(static_cast<std::int32_t>(rng.below(10)));
  data.mean = {0.49F, 0.48F, 0.45F};
  data.deviation = {0.25F, 0.24F, 0.26F};
  return data;
}

// Noise in a packed file, whose name is gone again: it lives as long as it is mapped.
Result<Dataset> mapped_noise() {
  std::error_code ignored;
  const fs::path path =
      fs::temp_directory_path(ignored) / ("detol-bench-" + std::to_string(::getpid()));
  DETOL_TRY(write_packed(noise(), 0.1, path));
  auto packed = read_packed(path);
  fs::remove(path, ignored);
  return packed.map([](Packed& read) { return std::move(read.data); });
}

// Of an epoch's batches, one after the other.
double images_per_second(const Dataset& data, const Recipe& recipe, int epoch) {
  Batches batches(data, recipe, 1);
  batches.start_epoch(epoch);
  const auto size = static_cast<std::size_t>(kBatch * data.info.task.input.elements());
  std::vector<float> images(size);
  std::vector<std::int32_t> labels(kBatch);
  batches.fill(0, {0, kBatch}, images, labels);
  const double start = thread_seconds();
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step)
    batches.fill(step, {0, kBatch}, images, labels);
  return static_cast<double>(batches.steps_per_epoch() * kBatch) / (thread_seconds() - start);
}

}  // namespace

void bench_loader(Figures& figures) {
  constexpr std::string_view kName = "loader/augmented32", kAll = "loader/augmented32,all";
  if (!figures.wants(kName) && !figures.wants(kAll)) return;
  const auto data = mapped_noise();
  if (!data) return log_warning("no figures of the loader: {}", data.error().message);
  Recipe recipe{.batch_size = kBatch, .crop_padding = 4, .horizontal_flip = true};
  int epoch = 0;
  const auto measure = [&] { return images_per_second(*data, recipe, ++epoch); };
  figures.measure(std::string(kName), "images/s", 11, measure);
  recipe.cutout = 8;
  figures.measure(std::string(kAll), "images/s", 11, measure);
}

}  // namespace detol
