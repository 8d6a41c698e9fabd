// Every sample, mutant and child in a space of cells decodes to a network.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "core/table.h"
#include "encodings/study/encodings.h"
#include "tests/encodings/cell_file.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

using nlohmann::json;

const Task kTask{{1, 8, 8}, 3};

struct CellSpace {
  std::string name, cell, macro;
  bool may_be_refused = false;
  std::uint64_t samples = 100;
  friend void PrintTo(const CellSpace& space, std::ostream* out) { *out << space.name; }
};

const std::string kTiny = "{cells_per_stage: 1, stages: 2, channels: 2}";

const std::vector<CellSpace> kSpaces = {
    {"Nb201", kNb201Cell, kTiny, true, 1000},
    {"EdgesWithoutNone", "{nodes: 5, edges: op_on_edge, operations: [skip_connect, sep_conv_3x3]}",
     kTiny},
    {"Darts", kDartsCell, kTiny, false, 1000},
    {"OneCellAsBoth",
     "{nodes: 2, edges: op_on_node, operations: [none, nor_conv_3x3], cells: [normal]}", kTiny},
    {"ThreeInputs",
     "{nodes: 4, edges: op_on_node, inputs_per_node: 3, operations: [none, skip_connect, "
     "max_pool_5x5, conv_7x1_1x7]}",
     kTiny},
    {"OneInput",
     "{nodes: 3, edges: op_on_node, inputs_per_node: 1, operations: [skip_connect, none]}", kTiny},
    {"OneStage", "{nodes: 1, edges: op_on_node, operations: [avg_pool_3x3, none]}",
     "{cells_per_stage: {type: int, low: 1, high: 3}, stages: 1, channels: 3}"},
};

class CellSpaces : public testing::TestWithParam<CellSpace> {
 protected:
  CellSpaces() : study_(load(cell_file(GetParam().cell, GetParam().macro))) {}

  // Expects a network, or, where `may_be_refused`, that nothing reaches the output.
  void expect_network(const Genome& genome) const {
    const auto candidate = study_.candidate(genome, kTask);
    if (candidate) return;
    EXPECT_TRUE(GetParam().may_be_refused);
    EXPECT_EQ(candidate.error().cause, Cause::kInvalid);
    EXPECT_EQ(candidate.error().reason,
              "nothing reaches the cell's output: `none` cuts every path");
  }

  void expect_round_trip(const Genome& genome) const {
    const auto again = study_.space.genome(genome.assignments());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, genome);
    EXPECT_EQ(study_.space.identity(*again), study_.space.identity(genome));
  }

  const StudyConfig study_;
};

TEST_P(CellSpaces, SamplesMutantsAndChildrenAreNetworks) {
  for (std::uint64_t n = 0; n < GetParam().samples; ++n) {
    SCOPED_TRACE("seed 1, case " + std::to_string(n));
    Rng rng = Rng(1).split(n);
    const Genome one = study_.space.sample(rng);
    const Genome other = study_.space.sample(rng);
    for (const Genome& genome :
         {one, study_.space.mutate(one, rng), study_.space.crossover(one, other, rng)}) {
      expect_network(genome);
      expect_round_trip(genome);
    }
  }
}

TEST_P(CellSpaces, WhatIsNotExpressedChangesNothing) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    SCOPED_TRACE("seed 2, case " + std::to_string(n));
    Rng rng = Rng(2).split(n);
    const Genome genome = study_.space.sample(rng);
    const std::vector<bool> counts = study_.space.expressed(genome);
    std::vector<double> codes(genome.codes().begin(), genome.codes().end());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (!counts[i]) codes[i] = study_.space.domains()[i].code_at(rng.uniform());
    }
    const Genome same = study_.space.repair(codes, rng);
    EXPECT_EQ(std::vector<double>(same.codes().begin(), same.codes().end()), codes);
    EXPECT_EQ(study_.space.identity(same), study_.space.identity(genome));
    const auto a = study_.candidate(genome, kTask), b = study_.candidate(same, kTask);
    ASSERT_EQ(a.has_value(), b.has_value());
    EXPECT_EQ(a ? a->arch_hash : 0, b ? b->arch_hash : 0);
  }
}

TEST_P(CellSpaces, AnExpressedOperationChangesTheNetwork) {
  if (GetParam().may_be_refused) return;  // all edges are expressed there, as tables need it
  int changed = 0, all = 0;
  for (std::uint64_t n = 0; n < 100; ++n) {
    Rng rng = Rng(3).split(n);
    const Genome genome = study_.space.sample(rng);
    const Genome mutant = study_.space.mutate(genome, rng);
    ++all;
    const auto a = study_.candidate(genome, kTask), b = study_.candidate(mutant, kTask);
    if (a && b && a->arch_hash != b->arch_hash) ++changed;
  }
  EXPECT_GT(changed, all / 2);  // the others are the same network with its inputs exchanged
}

TEST_P(CellSpaces, AnArchitectureIsItsNetworkInAnyProgram) {
  const EncodingRow& row = *find_row(encodings(), "cell");
  for (std::uint64_t n = 0; n < 30; ++n) {
    Rng rng = Rng(4).split(n);
    const Genome genome = study_.space.sample(rng);
    const auto candidate = study_.candidate(genome, kTask);
    if (!candidate) continue;
    const json architecture = json::parse(study_.architecture_json(genome));
    const Result<Network> network = row.decode(architecture, kTask);
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->nodes().size(), candidate->network.nodes().size());
    EXPECT_FALSE(row.key(architecture).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CellSpaces, testing::ValuesIn(kSpaces),
                         [](const auto& space) { return space.param.name; });

TEST(CellFile, SaysWhichKeysDoNotFitTogether) {
  const auto message = [](const std::string& cell, const std::string& macro = "{}") {
    return message_of(cell_file(cell, macro));
  };
  EXPECT_EQ(message("{nodes: 1, edges: op_on_edge, operations: [none, skip_connect]}"),
            "s.yaml:4:15: architecture.cell.nodes: op_on_edge counts the input too: at least 2");
  EXPECT_EQ(
      message("{nodes: 3, edges: op_on_edge, inputs_per_node: 2, operations: [skip_connect]}"),
      "s.yaml:4:15: architecture.cell.inputs_per_node: only with op_on_node");
  EXPECT_EQ(message("{nodes: 3, edges: op_on_node, operations: [none]}"),
            "s.yaml:4:15: architecture.cell.operations: an operation beside none is needed");
  EXPECT_EQ(
      message("{nodes: 3, edges: op_on_node, operations: [skip_connect], cells: [reduction]}"),
      "s.yaml:4:15: architecture.cell.cells: [normal, reduction], or [normal] to use one cell "
      "as both");
  EXPECT_EQ(message("{nodes: 3, edges: op_on_node, operations: [skip_connect], "
                    "cells: [normal, reduction]}",
                    "{stages: 1}"),
            "s.yaml:4:15: architecture.cell.cells: a network of one stage has no reduction cell");
  EXPECT_TRUE(message("{nodes: 3, edges: op_on_node, operations: [skip_conect]}")
                  .find("did you mean 'skip_connect'?") != std::string::npos);
}

TEST(NodeCell, RefusesAssignmentsThatBreakItsRules) {
  const StudyConfig study = load(cell_file(
      "{nodes: 2, edges: op_on_node, operations: [none, skip_connect], cells: [normal]}", kTiny));
  const std::string node = "architecture.normal.node[";
  const auto refusal = [&](const std::vector<std::string>& words) {
    std::vector<std::pair<std::string, Value>> assignments;
    for (std::size_t i = 0; i < words.size(); ++i)
      assignments.emplace_back(study.space.domains()[i].name, words[i]);
    const auto genome = study.space.genome(assignments);
    return genome ? "" : genome.error().message;
  };
  EXPECT_EQ(choices_of(study), node + "0].op[0] " + node + "0].op[1] " + node + "1].input[0] " +
                                   node + "1].op[0] " + node + "1].input[1] " + node + "1].op[1]");
  EXPECT_EQ(refusal({"skip_connect", "none", "node0", "skip_connect", "node0", "skip_connect"}),
            "architecture.normal.node[1]: it takes node0 twice");
  EXPECT_EQ(refusal({"none", "none", "node0", "skip_connect", "input0", "none"}),
            "architecture.normal: nothing reaches its output");
  EXPECT_EQ(refusal({"none", "none", "node0", "none", "input0", "skip_connect"}), "");
}

TEST(NodeCell, IsWrittenAsAGenotypeWithEveryNodesInputsInOrder) {
  const json cell = json::parse(R"({"node": [
      {"input": ["input0", "input1"], "op": ["sep_conv_3x3", "skip_connect"]},
      {"input": ["node0", "input1"], "op": ["max_pool_3x3", "none"]}]})");
  json architecture = {{"cell", {{"edges", "op_on_node"}}}, {"normal", cell}};
  const EncodingRow& row = *find_row(encodings(), "cell");
  const std::string list =
      "[('sep_conv_3x3', 0), ('skip_connect', 1), ('none', 1), ('max_pool_3x3', 2)]";
  EXPECT_EQ(row.key(architecture), "Genotype(normal=" + list + ", normal_concat=range(2, 4))");
  architecture["reduction"] = cell;
  EXPECT_EQ(row.key(architecture), "Genotype(normal=" + list +
                                       ", normal_concat=range(2, 4), reduce=" + list +
                                       ", reduce_concat=range(2, 4))");
}

}  // namespace
}  // namespace detol
