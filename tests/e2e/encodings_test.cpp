// Encodings beyond the chain of stages, trained, reported and exported by the program.

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

struct Case {
  std::string name, architecture, algorithm;
};

const Case kCases[] = {
    {"Cgp",
     "type: cgp, cgp: {rows: 3, columns: 8, levels_back: 4, channels: [4, 8], min_active: 4}",
     "cgp"},
    {"CgpConvSet",
     "type: cgp, cgp: {rows: 3, columns: 8, functions: [convset], channels: [4], min_active: 6}",
     "{name: cgp, startup: 2}"},
    {"Layers",
     "type: chain, layers: {depth: 5, channels: [4, 8], kernels: [1, 3], dense: [16], dropout: "
     "0.1}",
     "qlearning"},
    {"CellOnEdges",
     "type: cell, cell: {nodes: 4, edges: op_on_edge, operations: [none, skip_connect, "
     "nor_conv_1x1, nor_conv_3x3, avg_pool_3x3]}, macro: {cells_per_stage: 1, stages: 2, "
     "channels: 8}",
     "evolution"},
    {"CellOnNodes",
     "type: cell, cell: {nodes: 2, edges: op_on_node, operations: [none, skip_connect, "
     "max_pool_3x3, sep_conv_3x3, dil_conv_5x5]}, macro: {cells_per_stage: 1, stages: 2, "
     "channels: 4}",
     "local"},
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.architecture;
}

std::string space_of(const Case& row) {
  return "version: 1\nstudy: tiny\nseed: 7\ndata: {format: idx, path: data, split: {validation: "
         "0.2}}\narchitecture: {" +
         row.architecture +
         "}\nparameters: {optimizer: adamw, lr: 0.01, batch_size: 16}\ntraining: {epochs: "
         "2}\nobjectives: [{metric: val_accuracy, direction: maximize}]\nsearch: {algorithm: " +
         row.algorithm + "}\nbudget: 5trials\n";
}

class Encodings : public testing::TestWithParam<Case> {};

TEST_P(Encodings, TrainAndExport) {
  const TempFolder folder;
  write_idx(folder.path() / "data");
  write_bytes(folder.path() / "tiny.yaml", space_of(GetParam()));
  const Ran searched = run(folder.path(), {"search", "--space", "tiny.yaml", "--workers", "1"});
  ASSERT_EQ(searched.code, 0) << searched.err;
  const Ran trained =
      run(folder.path(),
          {"query", "-f", "csv", "SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'"});
  EXPECT_EQ(trained.out, "n\n5\n") << searched.err;
  const auto best = nlohmann::json::parse(run(folder.path(), {"best", "tiny", "-f", "json"}).out);
  EXPECT_GT(best["values"]["val_accuracy"], 0.3);  // with four classes, chance is 0.25
  const Ran exported = run(folder.path(), {"export", "tiny", "--trial", "best", "--to", "all", "-o",
                                           "models", "--verify", "-f", "json"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const Ran folded = run(folder.path(), {"export", "tiny", "--to", "all", "-o", "folded",
                                         "--verify", "--fold-batch-norm", "-f", "json"});
  ASSERT_EQ(folded.code, 0) << folded.err;
  const auto onnx_bytes = [](const Ran& ran) { return nlohmann::json::parse(ran.out)[0]["bytes"]; };
  const bool has_norms = GetParam().name != "Layers";
  EXPECT_EQ(onnx_bytes(folded) < onnx_bytes(exported), has_norms);
}

INSTANTIATE_TEST_SUITE_P(Table, Encodings, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace detol::testing_support
