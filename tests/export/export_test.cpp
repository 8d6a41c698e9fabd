// Tests that every row of exporters() keeps the promises of export.h.

#include "export/export.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "core/file.h"
#include "encodings/study/study_config.h"
#include "export/formats.h"
#include "tests/export/sample_models.h"

namespace detol {
namespace {

using testing::model_of;
using testing::network_of_everything;
using testing::network_with;

class Exporters : public ::testing::TestWithParam<ExporterRow> {
 protected:
  void SetUp() override {
    const std::string why = GetParam().why_not ? GetParam().why_not() : "";
    if (!why.empty()) GTEST_SKIP() << why;
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(test, '/', '-');
    folder_ = std::filesystem::path(::testing::TempDir()) / ("detol-" + test);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& stem = "model") const {
    return folder_ / (stem + std::string(GetParam().extension));
  }
  Result<void> write(const Model& model, const std::filesystem::path& path) const {
    return GetParam().write(model, path);
  }
  void expect_refused(const Model& model) const {
    const Result<void> written = write(model, file());
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kExport);
    EXPECT_EQ(written.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }

  std::filesystem::path folder_;
};

TEST_P(Exporters, VerifyEveryLayerKind) {
  for (const LayerRow& row : layer_rows()) {
    const Model model = model_of(network_with(row.kind));
    const Result<void> written = write(model, file());
    ASSERT_TRUE(written) << row.name << ": " << written.error().message;
    const Result<void> verified = GetParam().verify(model, file());
    EXPECT_TRUE(verified) << row.name << ": " << verified.error().message;
  }
}

TEST_P(Exporters, VerifyANetworkOfEverything) {
  const Model model = model_of(network_of_everything());
  ASSERT_TRUE(write(model, file()));
  const Result<void> verified = GetParam().verify(model, file());
  EXPECT_TRUE(verified) << verified.error().message;
}

// Exports networks that are wired as a search may find them.
TEST_P(Exporters, VerifyNetworksOfEveryEncoding) {
  const std::vector<std::string> architectures = {
      "type: chain, stages: [{block: {op: {type: categorical, choices: [mbconv, residual]}}}]",
      "type: cell, cell: {nodes: 4, edges: op_on_edge, operations: [skip_connect, nor_conv_3x3]}, "
      "macro: {cells_per_stage: 1, stages: 2, channels: 4}",
      "type: cgp, cgp: {rows: 2, columns: 6, levels_back: 3, channels: [4], kernels: [3]}",
      "type: graph, graph: {nodes: 6, join: per_node, operations: [conv_3x3, "
      "max_pool_3x3_stride2]}, macro: {channels: 4}",
  };
  for (const std::string& architecture : architectures) {
    SCOPED_TRACE(architecture);
    const auto study = load_study_config(
        "version: 1\nstudy: s\ndata: {format: idx, path: /data}\narchitecture: {" + architecture +
            "}\ntraining: {epochs: 1}\n"
            "objectives: [{metric: val_loss, direction: minimize}]\n",
        "s.yaml");
    ASSERT_TRUE(study) << study.error().message;
    Rng rng(1);
    for (int i = 0; i < 5; ++i) {
      const auto candidate = study->candidate(study->space.sample(rng), {{1, 9, 9}, 3});
      ASSERT_TRUE(candidate) << candidate.error().reason;
      const Model model = model_of(candidate->network);
      ASSERT_TRUE(write(model, file()));
      const Result<void> verified = GetParam().verify(model, file());
      EXPECT_TRUE(verified) << verified.error().message;
    }
  }
}

TEST_P(Exporters, GiveEqualBytesForEqualModels) {
  ASSERT_TRUE(write(model_of(network_of_everything()), file("one")));
  ASSERT_TRUE(write(model_of(network_of_everything()), file("two")));
  EXPECT_EQ(read_file(file("one")).value(), read_file(file("two")).value());
}

TEST_P(Exporters, LeaveNothingBesideTheFile) {
  ASSERT_TRUE(write(model_of(network_of_everything()), file()));
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry);
  EXPECT_EQ(found, std::vector{file()});
}

TEST_P(Exporters, NoticeAFileThatWasCut) {
  const Model model = model_of(network_of_everything());
  ASSERT_TRUE(write(model, file()));
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);
  const Result<void> verified = GetParam().verify(model, file());
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::kExport);
  EXPECT_NE(verified.error().message.find(file().string()), std::string::npos);
}

TEST_P(Exporters, NoticeAnotherNetworksFile) {
  ASSERT_TRUE(write(model_of(network_with(LayerKind::kMaxPool)), file()));
  EXPECT_FALSE(GetParam().verify(model_of(network_of_everything()), file()));
}

TEST_P(Exporters, NameAFolderThatIsNotThere) {
  const Result<void> written = write(model_of(network_of_everything()), "/no/such/folder/model");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kExport);
  EXPECT_NE(written.error().message.find("/no/such/folder"), std::string::npos);
}

TEST_P(Exporters, RefuseAMissingTensor) {
  Model model = model_of(network_of_everything());
  model.weights.pop_back();
  expect_refused(model);
}

TEST_P(Exporters, RefuseATensorOfAnotherShape) {
  Model model = model_of(network_of_everything());
  model.weights[0].shape[0] += 1;
  expect_refused(model);
}

TEST_P(Exporters, RefuseWeightsThatDiverged) {
  Model model = model_of(network_of_everything());
  model.weights[2].data[0] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(model);
}

TEST_P(Exporters, RefuseANormalisationThatDividesByZero) {
  Model model = model_of(network_of_everything());
  model.deviation[1] = 0;
  expect_refused(model);
}

TEST_P(Exporters, RefuseANormalisationOfOtherChannels) {
  Model model = model_of(network_of_everything());
  model.mean.push_back(0);
  expect_refused(model);
}

INSTANTIATE_TEST_SUITE_P(All, Exporters,
                         ::testing::ValuesIn(exporters().begin(), exporters().end()),
                         [](const auto& row) {
                           return std::string(row.param.name) + "_" +
                                  std::string(row.param.extension.substr(1));
                         });

TEST(Dot, DrawsAnEdgeFromEveryLayerThatALayerReads) {
  NetworkBuilder b({1, 4, 4});
  const NodeId one = b.add({.kind = LayerKind::kConv, .channels = 2}, {b.input()}, "one");
  const NodeId two = b.add({.kind = LayerKind::kBatchNorm}, {one}, "two");
  const NodeId sum = b.add({.kind = LayerKind::kAdd}, {one, two}, "sum");
  const std::string text = dot_bytes(model_of(b.build(sum).value())).value();
  std::vector<std::string> edges;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" -> ") != line.npos) edges.push_back(line);
  }
  EXPECT_EQ(edges, (std::vector<std::string>{R"(  "input" -> "one";)", R"(  "one" -> "two";)",
                                             R"(  "one" -> "sum";)", R"(  "two" -> "sum";)"}));
}

}  // namespace
}  // namespace detol
