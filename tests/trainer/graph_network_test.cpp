// Fast backends against the reference in double on networks of encoding `graph`: joined tensors of
// different sizes, sums and concatenations of many, layers with many readers.

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/reference/reference.h"

namespace detol {
namespace {

struct GraphCase {
  std::string name, architecture;
  Shape image;
  friend void PrintTo(const GraphCase& sample, std::ostream* out) { *out << sample.name; }
};

const std::array kCases = {
    GraphCase{"Nasbench101",
              "graph: {nodes: 7, edges: 9, join: nasbench101, "
              "operations: [conv_3x3, conv_1x1, max_pool_3x3]}, "
              "macro: {channels: 6, stages: 2, cells_per_stage: 2}",
              {3, 8, 8}},
    GraphCase{"SizesThatDiffer",
              "graph: {nodes: 7, join: per_node, operations: [conv_3x3_stride2, skip_connect, "
              "max_pool_3x3_stride2, avg_pool_3x3_stride2, dil_conv_3x3, avg_pool_5x5]}, "
              "macro: {channels: 4}",
              {1, 11, 7}},
    GraphCase{"ASequence",
              "graph: {nodes: 6, join: concat, operations: [conv_5x5, sep_conv_3x3_stride2, "
              "max_pool_5x5]}, macro: {channels: 4, stages: 2}",
              {2, 1, 17}},
};

class GraphNetworks : public testing::TestWithParam<GraphCase> {};

TEST_P(GraphNetworks, TrainAsTheReferenceDoes) {
  const auto study = load_study_config(
      "version: 1\nstudy: s\ndata: {format: idx, path: /data}\narchitecture: {type: graph, " +
          GetParam().architecture +
          "}\ntraining: {epochs: 1}\nobjectives: [{metric: val_loss, direction: minimize}]\n",
      "graphs.yaml");
  ASSERT_TRUE(study) << study.error().message;
  Recipe recipe;
  recipe.batch_size = 4;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto candidate = study->candidate(study->space.sample(rng), {GetParam().image, 3});
    ASSERT_TRUE(candidate) << candidate.error().reason;
    const Network& network = candidate->network;
    const auto reference = make_reference<double>(network, recipe);
    const auto compiled = fastest_tested().compile(network, recipe, {});
    ASSERT_TRUE(compiled) << compiled.error().message;
    const Weights start = lived_in_weights(network, seed);
    for (Executable* executable : {static_cast<Executable*>(reference.get()), compiled->get()}) {
      executable->set_state({start, {}});
      fill_batch(*executable, 4, seed);
      executable->train_step({.lr = 0.001, .step = 1, .seed = seed});
    }
    EXPECT_LE(apart((*compiled)->state().weights, reference->state().weights, start), 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GraphNetworks, testing::ValuesIn(kCases),
                         [](const auto& sample) { return sample.param.name; });

}  // namespace
}  // namespace detol
