// Tests that a step allocates nothing. Every operator new of the program is counted, except those
// that oneDNN makes itself for the arguments of each primitive.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/data/batches.h"
#include "trainer/predict.h"
#include "trainer/schedule.h"

namespace {

bool g_counting = false;
int g_allocations = 0;

bool is_of_onednn(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

}  // namespace

// Not inlined: the return address must be the caller's.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  if (g_counting && !is_of_onednn(__builtin_return_address(0))) ++g_allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// Standard algorithms ask for their temporary space in this form.
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (g_counting && !is_of_onednn(__builtin_return_address(0))) ++g_allocations;
  return std::malloc(bytes);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace detol {
namespace {

TEST(AllocationCounter, SeesAnAllocation) {
  g_allocations = 0;
  g_counting = true;
  const std::vector<int> four(4);
  g_counting = false;
  EXPECT_EQ(g_allocations, 1);
}

// Returns a network of the layers that the other networks lack.
Network joined() {
  using enum LayerKind;
  NetworkBuilder b({5, 1, 12});
  const auto conv = [&](std::int64_t groups, NodeId x) {
    const Layer layer{.kind = kConv,
                      .channels = 20,
                      .kernel = 5,
                      .kernel_height = 1,
                      .groups = groups,
                      .dilation = 2};
    return b.add(layer, {x});
  };
  const NodeId x = b.add({.kind = kLayerNorm}, {conv(1, b.input())});
  const NodeId both = b.add({.kind = kConcat}, {conv(20, x), x});
  const Layer half{.kind = kMaxPool, .kernel = 2, .kernel_height = 1, .stride = 2};
  const NodeId flat = b.add({.kind = kFlatten}, {b.add(half, {both})});
  const NodeId normal =
      b.add({.kind = kLayerNorm}, {b.add({.kind = kDense, .channels = 9}, {flat})});
  return b.build(b.add({.kind = kDense, .channels = 3}, {normal})).value();
}

TEST(Onednn, AllocatesNothingInAStep) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    for (const Network& network : {composite(21), make_resnet({}), joined()}) {
      Recipe recipe;
      recipe.batch_size = 4;
      recipe.optimizer = optimizer;
      const auto executable = fastest_tested().compile(network, recipe, {}).value();
      executable->set_state({lived_in_weights(network, 1), {}});
      fill_batch(*executable, network.output().shape.channels, 2);
      executable->train_step({.lr = 0.1});
      g_allocations = 0;
      g_counting = true;
      executable->train_step({.lr = 0.1, .step = 1});
      executable->evaluate(3);
      g_counting = false;
      EXPECT_EQ(g_allocations, 0);
    }
  }
}

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

TEST(TrainingLoop, AllocatesNothingBetweenSteps) {
  const Dataset data = random_data();
  const Normaliser normaliser(data);
  const Recipe recipe{
      .batch_size = 8, .epochs = 2, .crop_padding = 2, .horizontal_flip = true, .mixup = 0.2};
  const auto executable =
      fastest_tested().compile(make_resnet({.input = {1, 16, 16}}), recipe, {}).value();
  Batches batches(data, recipe, 1);
  executable->train_step({});  // in the first one of a process oneDNN sets itself up
  g_allocations = 0;
  g_counting = true;
  batches.start_epoch(1);
  for (std::int64_t step = 0; step < batches.steps_per_epoch(); ++step) {
    batches.fill(step, {0, 8}, executable->images(), executable->targets());
    executable->train_step({learning_rate(recipe, step, batches.steps_per_epoch()), step, 7});
  }
  score(*executable, {data, normaliser, {kTraining, kValidation}}, [] { return true; });
  g_counting = false;
  EXPECT_EQ(g_allocations, 0);
}

}  // namespace
}  // namespace detol
