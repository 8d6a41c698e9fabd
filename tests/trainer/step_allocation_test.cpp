// Tests that a step allocates nothing, and that a compiled candidate allocates nothing beside its
// memory plan. Every operator new of the program is counted, except those that oneDNN makes itself
// for the arguments of each primitive.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "encodings/network/cost.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/data/batches.h"
#include "trainer/predict.h"
#include "trainer/schedule.h"

namespace {

bool g_counting = false;
int g_allocations = 0;
std::size_t g_bytes = 0;

bool is_of_onednn(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

void count(std::size_t bytes, void* caller) {
  if (!g_counting || is_of_onednn(caller)) return;
  ++g_allocations;
  g_bytes += bytes;
}

}  // namespace

// Not inlined: the return address must be the caller's.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  count(bytes, __builtin_return_address(0));
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// Standard algorithms ask for their temporary space in this form.
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  count(bytes, __builtin_return_address(0));
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

TEST(Cpu, AllocatesNothingInAStep) {
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

// Leader stands for the leader of three ranks, and computes nothing.
class Leader final : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 3; }
  void sum(std::span<float>) override {}
  void sum(std::span<double>) override {}
  void sum(std::span<Half>) override {}
  void gather(std::span<const std::byte>, std::span<std::byte>) override {}
  std::string share(std::string bytes, int) override { return bytes; }
};

struct Memory {
  double planned = 0;  // Executable::bytes()
  double beside = 0;   // allocated by operator new: not in the block of the plan
};

// Returns the memory of a compiled candidate, of so many images for each of the group's ranks.
Memory memory_of(const Network& network, Recipe recipe, std::int64_t images, Group& group) {
  recipe.batch_size = images * group.size();
  g_bytes = 0;
  g_counting = true;
  const auto executable = fastest_tested().compile(network, recipe, {.group = &group}).value();
  g_counting = false;
  return {static_cast<double>(executable->bytes()), static_cast<double>(g_bytes)};
}

// What is allocated beside the plan describes steps: it does not grow with the values.
TEST(Cpu, AllocatesNothingBesideThePlanThatGrowsWithTheNetwork) {
  const Recipe recipe{.optimizer = "adamw", .ema = 0.9};
  memory_of(composite(32), recipe, 4, alone());  // oneDNN's first
  const Memory small = memory_of(composite(32), recipe, 4, alone());
  for (const auto& [channels, images] : {std::pair(32, 64), std::pair(128, 4)}) {
    const Memory large = memory_of(composite(channels), recipe, images, alone());
    EXPECT_GT(large.planned, 3 * small.planned);
    EXPECT_LT(large.beside - small.beside, 4096)
        << channels << " channels, " << images << " images";
  }
}

// A rank's sums keep late gradients, residuals, and what they send; a group receives the rest.
TEST(Cpu, PlansWhatTheSumsOfAGroupKeep) {
  NetworkBuilder builder({1024, 1, 1});
  const NodeId dense = builder.add({.kind = LayerKind::kDense, .channels = 512}, {builder.input()});
  const Network network = builder.build(dense).value();
  Leader leader;
  for (const char* compression : {"none", "fp16", "top_k"}) {
    for (const int staleness : {0, 2}) {
      const Recipe recipe{.compression = compression, .staleness = staleness};
      const Memory one = memory_of(network, recipe, 4, alone());
      const Memory rank = memory_of(network, recipe, 4, leader);
      const double planned = rank.planned - one.planned;
      const auto floats = static_cast<double>(cost_of(network).value().params);
      const bool sends_all = std::string_view(compression) != "top_k";
      const double each = std::string_view(compression) == "fp16" ? 2 : 4;
      const double received = sends_all ? floats * each * static_cast<double>(staleness + 1) : 0;
      // Those that all ranks share come with the first checkpoint.
      const double shared = sends_all ? 0 : 3 * floats * 4;
      EXPECT_NEAR(rank.beside - one.beside, planned - received - shared, 0.02 * planned)
          << compression << " " << staleness;
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
