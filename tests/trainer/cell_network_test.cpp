// Fast backends against the reference in double on networks of encoding `cell`: every operation,
// sums of a tensor with itself, nodes of many readers, concatenations.

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/reference/reference.h"

namespace detol {
namespace {

StudyConfig cells(const std::string& architecture) {
  return load_study_config(
             "version: 1\nstudy: s\ndata: {format: idx, path: /data}\narchitecture: {type: cell, " +
                 architecture +
                 "}\ntraining: {epochs: 1}\n"
                 "objectives: [{metric: val_loss, direction: minimize}]\n",
             "cells.yaml")
      .value();
}

struct CellCase {
  std::string name, architecture;
  Shape image;
  friend void PrintTo(const CellCase& sample, std::ostream* out) { *out << sample.name; }
};

const std::vector<CellCase> kCases = {
    {"OnEdges",
     "cell: {nodes: 4, edges: op_on_edge, "
     "operations: [none, skip_connect, nor_conv_1x1, nor_conv_3x3, avg_pool_3x3]}, "
     "macro: {cells_per_stage: 1, stages: 2, channels: 4}",
     {3, 8, 8}},
    {"OnEdgesOddSize",
     "cell: {nodes: 3, edges: op_on_edge, operations: [skip_connect, sep_conv_3x3, max_pool_3x3]}, "
     "macro: {cells_per_stage: 2, stages: 2, channels: 3}",
     {1, 7, 5}},
    {"OnNodes",
     "cell: {nodes: 3, edges: op_on_node, operations: [none, skip_connect, max_pool_3x3, "
     "avg_pool_3x3, sep_conv_3x3, sep_conv_5x5, dil_conv_3x3, dil_conv_5x5]}, "
     "macro: {cells_per_stage: 1, stages: 2, channels: 4}",
     {3, 7, 7}},
    {"OnNodesOfNasnet",
     "cell: {nodes: 2, edges: op_on_node, operations: [skip_connect, max_pool_5x5, max_pool_7x7, "
     "sep_conv_7x7, conv_3x1_1x3, conv_7x1_1x7, nor_conv_5x5], cells: [normal]}, "
     "macro: {cells_per_stage: 1, stages: 2, channels: 3}",
     {1, 9, 9}},
    {"OnNodesOfASequence",
     "cell: {nodes: 2, edges: op_on_node, operations: [skip_connect, max_pool_3x3, sep_conv_5x5, "
     "conv_7x1_1x7, nor_conv_3x3]}, macro: {cells_per_stage: 1, stages: 2, channels: 4}",
     {2, 1, 16}},
};

class CellNetworks : public testing::TestWithParam<CellCase> {};

TEST_P(CellNetworks, TrainAsTheReferenceDoes) {
  const StudyConfig study = cells(GetParam().architecture);
  Recipe recipe;
  recipe.batch_size = 4;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto candidate = study.candidate(study.space.sample(rng), {GetParam().image, 3});
    if (!candidate) continue;
    const Network& network = candidate->network;
    const auto reference = make_reference<double>(network, recipe);
    const auto compiled = fastest_tested().compile(network, recipe, {});
    ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
    const auto& tested = *compiled;
    const Weights start = lived_in_weights(network, seed);
    for (Executable* executable : {static_cast<Executable*>(reference.get()), tested.get()}) {
      executable->set_state({start, {}});
      fill_batch(*executable, 4, seed);
      executable->train_step({.lr = 0.001, .step = 1, .seed = seed});
    }
    EXPECT_LE(apart(tested->state().weights, reference->state().weights, start), 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CellNetworks, testing::ValuesIn(kCases),
                         [](const auto& sample) { return sample.param.name; });

// The sum reads the same tensor three times, so its gradient counts three times.
TEST(CellNetwork, ATensorAddedToItselfIsLearnedFromAsOften) {
  NetworkBuilder builder({2, 4, 4});
  const NodeId x = builder.add({.kind = LayerKind::kConv, .channels = 3}, {builder.input()});
  const NodeId sum = builder.add({.kind = LayerKind::kAdd}, {x, x, x});
  const NodeId out = builder.add({.kind = LayerKind::kDense, .channels = 3}, {sum});
  const Network network = builder.build(out).value();
  Recipe recipe;
  recipe.batch_size = 4;
  const Weights start = lived_in_weights(network, 1);
  const auto reference = make_reference<double>(network, recipe);
  const auto tested = fastest_tested().compile(network, recipe, {}).value();
  for (Executable* executable : {static_cast<Executable*>(reference.get()), tested.get()}) {
    executable->set_state({start, {}});
    fill_batch(*executable, 4, 1);
    executable->train_step({.lr = 0.001, .step = 1, .seed = 1});
  }
  EXPECT_LE(apart(tested->state().weights, reference->state().weights, start), 1e-4);
}

}  // namespace
}  // namespace detol
