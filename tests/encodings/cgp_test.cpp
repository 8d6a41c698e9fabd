// Encoding `cgp`: whatever a searcher does to its genes, they build a network.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/network/canonical.h"
#include "tests/encodings/random_genomes.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const Task kTask{{3, 12, 12}, 10};

StudyConfig study_of(const std::string& grid) {
  return load(file_of("cgp", "  cgp: " + grid + "\n"));
}

const std::string kPaper = "{rows: 5, columns: 30, levels_back: 10, channels: [4, 8]}";

struct Case {
  std::string name, grid;
  Shape image = kTask.input;
};

const std::vector<Case> kCases = {
    {"Paper", kPaper},
    {"PaperConvSet", "{functions: [convset], channels: [4, 8]}"},
    {"Tight", "{rows: 3, columns: 6, levels_back: 2, min_active: 6, max_active: 6, channels: [4]}"},
    {"Few", "{rows: 4, columns: 12, levels_back: 3, min_active: 1, max_active: 6, channels: [4]}"},
    {"Sparse", "{rows: 8, columns: 8, levels_back: 8, min_active: 8, max_active: 9, kernels: [3]}"},
    {"OneRow", "{rows: 1, columns: 20, levels_back: 20, min_active: 20, max_active: 20}"},
    {"OneNode", "{rows: 1, columns: 1, levels_back: 1}"},
    {"JoinsOnly", "{rows: 2, columns: 8, levels_back: 8, functions: [sum, concat], max_active: 9}"},
    {"PoolsOnOnePixel", "{rows: 2, columns: 9, functions: [max_pool, avg_pool]}", {3, 1, 1}},
    {"Sequence", "{rows: 3, columns: 9, levels_back: 4, channels: [4]}", {2, 1, 40}},
    {"OddImage", "{rows: 3, columns: 9, levels_back: 4, channels: [4, 6]}", {1, 7, 13}},
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.grid;
}

class CgpGrids : public testing::TestWithParam<Case> {};

TEST_P(CgpGrids, SamplesMutationsAndCrossoversAreNetworks) {
  const StudyConfig study = study_of(GetParam().grid);
  for (const Genome& genome : random_genomes(study.space, 60)) {
    ASSERT_TRUE(study.space.genome(genome.assignments()));
    const auto made = study.candidate(genome, {GetParam().image, 10});
    ASSERT_TRUE(made) << made.error().reason;
    EXPECT_EQ(made->network.output().shape, (Shape{10, 1, 1}));
  }
}

TEST_P(CgpGrids, WhatIsNotExpressedChangesNoNetwork) {
  const StudyConfig study = study_of(GetParam().grid);
  const Task task{GetParam().image, 10};
  Rng rng(12);
  for (const Genome& genome : random_genomes(study.space, 15)) {
    const Genome changed = with_other_unexpressed(study.space, genome, rng);
    EXPECT_EQ(study.space.identity(changed), study.space.identity(genome));
    EXPECT_EQ(study.candidate(changed, task)->arch_hash, study.candidate(genome, task)->arch_hash);
    EXPECT_EQ(study.space.expressed(changed), study.space.expressed(genome));
  }
}

TEST_P(CgpGrids, AGenomeIsReadBackAndDecodesFromItsJson) {
  const StudyConfig study = study_of(GetParam().grid);
  const Task task{GetParam().image, 10};
  for (const Genome& genome : random_genomes(study.space, 10)) {
    EXPECT_EQ(study.space.genome(genome.assignments()).value(), genome);
    EXPECT_EQ(hash_of_json("cgp", study.architecture_json(genome), task),
              study.candidate(genome, task)->arch_hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CgpGrids, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(Cgp, AThousandOfThePapersGridAreNetworksOfTenToFiftyNodes) {
  const StudyConfig study = study_of(kPaper);
  for (const Genome& genome : random_genomes(study.space, 1000)) {
    const auto made = study.candidate(genome, kTask);
    ASSERT_TRUE(made) << made.error().reason;
    // A node is active if its `op` is expressed.
    const std::vector<bool> counts = study.space.expressed(genome);
    int active = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      active += counts[i] && study.space.domains()[i].name.ends_with(".op") ? 1 : 0;
    }
    EXPECT_GE(active, 10);
    EXPECT_LE(active, 50);
  }
}

TEST(Cgp, ConnectionsReachLevelsBackAndTheImageFromTheLeftEdge) {
  const StudyConfig study = study_of("{rows: 2, columns: 4, levels_back: 2}");
  const auto accepted = [&](const std::string& gene) {
    return accepted_values(
        study.space.domains()[study.space.index_of("architecture.cgp." + gene).value()]);
  };
  EXPECT_EQ(accepted("node[0].input[0]"), "input");
  EXPECT_EQ(accepted("node[3].input[1]"), "input, node0, node1");
  EXPECT_EQ(accepted("node[4].input[0]"), "node0, node1, node2, node3");
  EXPECT_EQ(accepted("node[7].input[0]"), "node2, node3, node4, node5");
  EXPECT_EQ(accepted("output"), "node4, node5, node6, node7");
  EXPECT_EQ(study.space.size(), 25u);
}

// Returns "name:kind:shape ..." of the layers of these genes, without the head.
std::string layers_of(const std::string& grid, const std::string& nodes, const std::string& output,
                      const Task& task = kTask) {
  const auto network = decode(
      "cgp",
      R"({"cgp": {)" + grid + R"(, "node": [)" + nodes + R"(], "output": ")" + output + R"("}})",
      task);
  std::string text;
  for (const Node& node : network.nodes()) {
    if (!node.name.starts_with("nodes.")) continue;
    text += (text.empty() ? "" : " ") + node.name.substr(6) + ":" +
            std::string(to_text(node.layer.kind)) + ":" + to_text(node.shape);
  }
  return text;
}

const std::string kTwoByTwo = R"("rows": 2, "columns": 2, "channels": [8], "kernels": [3], )"
                              R"("functions": ["resset", "convset"])";

std::string node(const std::string& op, const std::string& one, const std::string& other) {
  return R"({"op": ")" + op + R"(", "input": [")" + one + R"(", ")" + other + R"("]})";
}

TEST(Cgp, TheNetworkIsWhatLeadsToTheOutput) {
  const std::string nodes =
      node("conv_3x3_8", "input", "input") + "," + node("max_pool", "input", "input") + "," +
      node("residual_3x3_8", "node1", "node0") + "," + node("concat", "node0", "node1");
  EXPECT_EQ(layers_of(kTwoByTwo, nodes, "node0"),
            "0.conv:conv:8x12x12 0.bn:batch_norm:8x12x12 0.act:activation:8x12x12");
  EXPECT_EQ(layers_of(kTwoByTwo, nodes, "node2"),
            "1.pool:max_pool:3x6x6 2.shortcut.conv:conv:8x6x6 2.shortcut.bn:batch_norm:8x6x6 "
            "2.conv1:conv:8x6x6 2.bn1:batch_norm:8x6x6 2.act1:activation:8x6x6 "
            "2.conv2:conv:8x6x6 2.bn2:batch_norm:8x6x6 2.add:add:8x6x6 2.act2:activation:8x6x6");
  EXPECT_TRUE(layers_of(kTwoByTwo, nodes, "node3").ends_with("3.concat:concat:11x6x6"));
}

TEST(Cgp, PoolingEndsAtOnePixelAndAThingJoinedWithItselfIsItself) {
  const std::string nodes =
      node("max_pool", "input", "input") + "," + node("avg_pool", "input", "input") + "," +
      node("max_pool", "node0", "node0") + "," + node("sum", "node1", "node1");
  EXPECT_EQ(layers_of(kTwoByTwo, nodes, "node2", {{3, 3, 2}, 10}), "0.pool:max_pool:3x1x1");
  EXPECT_EQ(layers_of(kTwoByTwo, nodes, "node3", {{3, 1, 9}, 10}), "1.pool:avg_pool:3x1x4");
}

TEST(Cgp, RefusesAGenomeWithTheWrongNumberOfActiveNodes) {
  const StudyConfig study = study_of(
      "{rows: 1, columns: 3, levels_back: 4, min_active: 2, max_active: 2, functions: [max_pool]}");
  const auto message = [&](const std::string& second, const std::string& third,
                           const std::string& output) {
    std::vector<std::pair<std::string, Value>> genes;
    const std::string sources[] = {"input", second, third};
    for (int i = 0; i < 3; ++i) {
      const std::string name = "architecture.cgp.node[" + std::to_string(i) + "]";
      genes.emplace_back(name + ".op", "max_pool");
      genes.emplace_back(name + ".input[0]", sources[i]);
      genes.emplace_back(name + ".input[1]", "input");
    }
    genes.emplace_back("architecture.cgp.output", output);
    const auto genome = study.space.genome(genes);
    return genome ? "" : genome.error().message;
  };
  EXPECT_EQ(message("node0", "node0", "node2"), "");
  EXPECT_EQ(message("node0", "node1", "input"), "architecture.cgp: 0 active nodes, at least 2");
  EXPECT_EQ(message("node0", "node1", "node2"), "architecture.cgp: 3 active nodes, at most 2");
}

TEST(Cgp, RefusesAGridThatCannotBe) {
  const auto message = [](const std::string& grid) {
    return message_of(file_of("cgp", "  cgp: " + grid + "\n"));
  };
  EXPECT_EQ(message("{columns: 4, min_active: 5}"),
            "s.yaml:5:3: architecture.cgp.min_active is 5; it must be at most the columns, 4");
  EXPECT_EQ(message("{columns: 30, levels_back: 2, min_active: 1, max_active: 19}"),
            "s.yaml:5:3: architecture.cgp.max_active is 19; it must be at least 20");
  EXPECT_EQ(message("{rows: 64, columns: 17}"),
            "s.yaml:5:3: architecture.cgp.rows x columns is 1088; it must be at most 1024");
  EXPECT_EQ(message("{functions: [reset]}"),
            "s.yaml:6:21: architecture.cgp.functions[0]: unknown word 'reset'; did you mean "
            "'resset'? known: resset, convset, residual, conv, max_pool, avg_pool, sum, concat");
}

}  // namespace
}  // namespace detol
