// A program of its own: it watches every allocation.

#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "trainer/backend.h"
#include "trainer/bench_networks.h"
#include "trainer/data/batches.h"
#include "trainer/predict.h"
#include "trainer/schedule.h"

namespace {

std::atomic<std::size_t> largest{0};  // bytes asked for at once

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > largest) largest = bytes;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace detol {
namespace {

// oneDNN makes small maps of arguments in every call; a tensor of this test has more bytes.
constexpr std::size_t kSmall = 1024;
constexpr std::int64_t kTraining = 64, kValidation = 20;

Dataset random_data() {
  Dataset data;
  data.info = {.task = {.input = {1, 16, 16}, .classes = 10},
               .training = kTraining,
               .validation = kValidation};
  Rng rng(1);
  for (std::int64_t i = 0; i < (kTraining + kValidation) * 256; ++i) {
    data.images.push_back(static_cast<std::uint8_t>(rng.below(256)));
  }
  for (std::int64_t i = 0; i < kTraining + kValidation; ++i) {
    data.labels.push_back(static_cast<std::int32_t>(i % 10));
  }
  data.mean = {0.5f};
  data.deviation = {0.3f};
  return data;
}

// The reference is slow on purpose and may allocate.
TEST(Allocation, NeitherAStepNorItsBatchNorValidationTakesMemoryForTensors) {
  const Dataset data = random_data();
  const Normaliser normaliser(data);
  const Network network = make_resnet({.input = {1, 16, 16}});
  for (const std::string optimizer : {"sgd", "adamw"}) {
    const Recipe recipe{.optimizer = optimizer,
                        .batch_size = 8,
                        .epochs = 2,
                        .crop_padding = 2,
                        .horizontal_flip = true};
    for (const BackendRow& row : backends().first(backends().size() - 1)) {
      const auto executable = row.compile(network, recipe).value();
      executable->set_state({initial_weights(network, 1), {}});
      Batches batches(data, recipe, 1);
      for (std::int64_t step = 0; step < 16; ++step) {
        if (step == 1) largest = 0;  // a library may settle in its first step
        if (step % 8 == 0) batches.start_epoch(static_cast<int>(step / 8) + 1);
        batches.fill(step % 8, executable->images(), executable->labels());
        executable->train_step({learning_rate(recipe, step, 8), step, 7});
      }
      score(*executable, data, normaliser, {kTraining, kValidation}, [] {});
      EXPECT_LT(largest, kSmall) << row.name << " " << optimizer;
    }
  }
}

}  // namespace
}  // namespace detol
