#include "trainer/backends/plan.h"

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "bench/trainer.h"
#include "trainer/backends/arena.h"

namespace detol {
namespace {

using enum LayerKind;

TEST(PlanUnits, FusesTheTailOfAResidualBlock) {
  NetworkBuilder b({4, 8, 8});
  const NodeId conv = b.add({.kind = kConv, .channels = 4, .kernel = 3}, {b.input()});
  const NodeId norm = b.add({.kind = kBatchNorm}, {conv});
  const NodeId sum = b.add({.kind = kAdd}, {b.input(), norm});
  const Network network = b.build(b.add({.kind = kActivation}, {sum})).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[1].node, norm);
  EXPECT_EQ(units[1].output, network.nodes().size() - 1);
  EXPECT_EQ(units[1].addend, b.input());
  EXPECT_TRUE(units[1].relu);
}

TEST(PlanUnits, DoesNotFuseABatchNormThatAnotherLayerReads) {
  NetworkBuilder b({4, 8, 8});
  const NodeId norm = b.add({.kind = kBatchNorm}, {b.input()});
  const NodeId relu = b.add({.kind = kActivation}, {norm});
  const Network network = b.build(b.add({.kind = kAdd}, {norm, relu})).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 3u);
  EXPECT_FALSE(units[0].relu);
}

TEST(PlanUnits, FusesAReluIntoTheMaxPoolingThatAloneReadsIt) {
  NetworkBuilder b({4, 8, 8});
  const NodeId relu = b.add({.kind = kActivation}, {b.input()});
  const NodeId pool = b.add({.kind = kMaxPool, .kernel = 2, .stride = 2}, {relu});
  const Network network = b.build(pool).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_EQ(units[0].node, pool);
  EXPECT_TRUE(units[0].relu);
}

TEST(PlanUnits, KeepsAReluThatABatchNormHasTakenInOrThatIsReadTwice) {
  NetworkBuilder b({4, 8, 8});
  const NodeId norm = b.add({.kind = kBatchNorm}, {b.input()});
  const NodeId first =
      b.add({.kind = kMaxPool, .kernel = 3}, {b.add({.kind = kActivation}, {norm})});
  const NodeId relu = b.add({.kind = kActivation}, {first});
  const NodeId second = b.add({.kind = kMaxPool, .kernel = 3}, {relu});
  const Network network = b.build(b.add({.kind = kAdd}, {relu, second})).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 5u);
  EXPECT_TRUE(units[0].relu);
  EXPECT_FALSE(units[1].relu);
  EXPECT_FALSE(units[3].relu);
}

TEST(PlanUnits, ComputesAnActivationOnceHoweverManyLayersBeginWithIt) {
  NetworkBuilder b({4, 8, 8});
  const NodeId norm = b.add({.kind = kBatchNorm}, {b.input()});
  const NodeId first = b.add({.kind = kActivation}, {norm});
  const NodeId conv = b.add({.kind = kConv, .channels = 4, .kernel = 3}, {first});
  const NodeId second = b.add({.kind = kActivation}, {norm});
  const NodeId other = b.add({.kind = kActivation, .activation = Activation::kSilu}, {second});
  const Network network = b.build(b.add({.kind = kAdd}, {conv, other})).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 5u);
  EXPECT_TRUE(units[0].relu);  // nothing but the ReLU reads the batch norm
  EXPECT_EQ(units[0].output, first);
  EXPECT_EQ(units[2].node, second);
  EXPECT_EQ(units[2].same_as, first);
  EXPECT_EQ(units[3].same_as, std::nullopt);
}

TEST(PlanUnits, ComputesNoReluOfARelu) {
  NetworkBuilder b({4, 8, 8});
  const NodeId first = b.add({.kind = kActivation}, {b.input()});
  const NodeId second = b.add({.kind = kActivation}, {first});
  const NodeId pool = b.add({.kind = kMaxPool, .kernel = 2, .stride = 2}, {second});
  const Network network = b.build(pool).value();
  const std::vector<Unit> units = plan_units(network);
  ASSERT_EQ(units.size(), 3u);
  EXPECT_EQ(units[1].same_as, first);
  EXPECT_FALSE(units[2].relu);
}

TEST(PlanUnits, ComputesASiluOfASilu) {
  NetworkBuilder b({4, 8, 8});
  const Layer silu{.kind = kActivation, .activation = Activation::kSilu};
  const Network network = b.build(b.add(silu, {b.add(silu, {b.input()})})).value();
  for (const Unit& unit : plan_units(network)) EXPECT_EQ(unit.same_as, std::nullopt);
}

TEST(PlanUnits, CoverEveryNodeInAnOrderThatWorks) {
  for (const BenchNetworkRow& row : bench_networks()) {
    const Network network = row.make();
    std::vector<bool> made(network.nodes().size());
    made[0] = true;
    std::size_t layers = 1;
    for (const Unit& unit : plan_units(network)) {
      const Node& node = network.nodes()[unit.node];
      const bool after_relu = unit.relu && node.layer.kind == kMaxPool;
      const Node& first = after_relu ? network.nodes()[node.inputs[0]] : node;
      for (NodeId input : first.inputs) EXPECT_TRUE(made[input]) << row.name;
      EXPECT_TRUE(!unit.addend || made[*unit.addend]) << row.name;
      EXPECT_TRUE(!unit.same_as || made[*unit.same_as]) << row.name;
      made[unit.output] = true;
      layers += 1u + (unit.addend ? 1 : 0) + (unit.relu ? 1 : 0);
    }
    EXPECT_EQ(layers, network.nodes().size()) << row.name;
  }
}

TEST(Arena, SharesBytesBetweenLiveRangesThatDoNotOverlap) {
  Arena arena;
  Buffer *early = arena.make(4096), *late = arena.make(4096), *both = arena.make(1024);
  arena.use(early, 0);
  arena.use(early, 2);
  arena.use(late, 3);
  arena.use(late, 5);
  arena.use(both, 2);
  arena.use(both, 3);
  arena.place();
  EXPECT_EQ(early->data, late->data);
  EXPECT_NE(both->data, early->data);
  EXPECT_EQ(arena.bytes(), 5120u);
}

TEST(Arena, ReusesABufferOnlyAtItsLastUse) {
  for (int other_use : {1, 4}) {
    Arena arena;
    Buffer* old = arena.make(256);
    Buffer* next = arena.make_over(old);
    arena.use(old, 0);
    arena.use(old, 2);
    arena.use(old, other_use);
    arena.use(next, 2);
    arena.use(next, 3);
    arena.place();
    EXPECT_EQ(next->data == old->data, other_use < 2);
  }
}

TEST(Arena, PassesItsBlockOnToTheNextCandidate) {
  std::byte* first = nullptr;
  {
    Arena arena;
    Buffer* buffer = arena.make_persistent(1 << 20);
    arena.place();
    first = buffer->data;
  }
  Arena second, third;
  Buffer *next = second.make_persistent(1 << 16), *living = third.make_persistent(1 << 16);
  second.place();
  third.place();
  EXPECT_EQ(next->data, first);
  EXPECT_NE(living->data, first);
}

TEST(Arena, ThrowsWhenMemoryIsShort) {
  Arena arena;
  arena.make_persistent(std::size_t{1} << 50);
  EXPECT_THROW(arena.place(), std::bad_alloc);
}

TEST(TrainingFlops, CountNoBackwardDataWhereNothingIsTrainedBefore) {
  NetworkBuilder b({1, 1, 4});
  const NodeId first = b.add({.kind = kDense, .channels = 8}, {b.input()});
  const Network network = b.build(b.add({.kind = kDense, .channels = 2}, {first})).value();
  EXPECT_EQ(training_flops(network), 2 * (2 * 4 * 8) + 3 * (2 * 8 * 2));
}

}  // namespace
}  // namespace detol
