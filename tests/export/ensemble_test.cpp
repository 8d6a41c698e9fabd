// An ensemble is one file, whose graph has the networks of all members and their vote.

#include <cmath>

#include <gtest/gtest.h>

#include "core/file.h"
#include "export/export.h"
#include "export/onnx_runtime.h"
#include "export/read_model.h"
#include "tests/export/sample_models.h"
#include "tests/support/temp_folder.h"
#include "trainer/predict.h"

namespace detol {
namespace {

class ExportedEnsemble : public ::testing::TestWithParam<TaskKind> {
 protected:
  ExportedEnsemble() {
    const Preprocessing data{.task = {model.network.input_shape(), kOutputs, GetParam()},
                             .has_bytes = true,
                             .mean = model.mean,
                             .deviation = model.deviation};
    model.check = check_logits(model, data).value();
  }

  static constexpr int kOutputs = 2;
  const int outputs = GetParam() == TaskKind::kBinary ? 1 : kOutputs;
  Model model = testing::ensemble_of(GetParam(), outputs);
  testing_support::TempFolder folder;
};

TEST_P(ExportedEnsemble, GivesTheVoteOfItsMembers) {
  EXPECT_EQ(outputs_of(model), outputs);
  ASSERT_EQ(model.check->logits.size(), static_cast<std::size_t>(model.check->count * outputs));
  std::vector<float> images;
  for (const float pixel : model.check->pixels) images.push_back((pixel - 0.25F) / 0.5F);
  const auto all = logits_of(model.network, model.weights, images, "reference").value();
  const auto voted = vote(GetParam(), model.shares, static_cast<std::size_t>(outputs), all);
  for (std::size_t i = 0; i < voted.size(); ++i)
    EXPECT_NEAR(model.check->logits[i], voted[i], 1e-5);
}

TEST_P(ExportedEnsemble, IsReadBackAsItWasWritten) {
  for (const ExporterRow& row : exporters()) {
    if (row.name != "onnx" && row.name != "safetensors") continue;
    const auto path = folder.path() / ("model" + std::string(row.extension));
    for (const bool is_raw : {false, true}) {
      model.is_raw = is_raw;
      const auto written = row.write(model, path);
      ASSERT_TRUE(written) << written.error().message;
      const auto verified = row.verify(model, path);
      EXPECT_TRUE(verified) << verified.error().message;
      const Model read = read_model(path).value();
      EXPECT_EQ(read.shares, model.shares);
      EXPECT_EQ(outputs_of(read), outputs);
    }
  }
}

TEST_P(ExportedEnsemble, KeepsItsThreshold) {
  model.threshold = 0.875;
  for (const ExporterRow& row : exporters()) {
    if (row.name != "onnx" && row.name != "safetensors") continue;
    const auto path = folder.path() / ("model" + std::string(row.extension));
    const auto written = row.write(model, path);
    if (GetParam() == TaskKind::kRegression) {
      EXPECT_FALSE(written);
      continue;
    }
    ASSERT_TRUE(written) << written.error().message;
    const auto verified = row.verify(model, path);
    EXPECT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(read_model(path).value().threshold, 0.875);
    const Model usual = testing::ensemble_of(GetParam(), outputs);
    EXPECT_FALSE(row.verify(usual, path));
  }
}

TEST_P(ExportedEnsemble, IsComputedByOnnxRuntime) {
  const auto path = folder.path() / "model.onnx";
  ASSERT_TRUE(exporters().front().write(model, path));
  const auto logits = onnx_runtime_logits(model, path);
  ASSERT_TRUE(logits) << logits.error().message;
  if (!*logits) GTEST_SKIP() << "python3 has no onnxruntime";
  ASSERT_EQ((*logits)->size(), model.check->logits.size());
  for (std::size_t i = 0; i < (*logits)->size(); ++i)
    EXPECT_NEAR((**logits)[i], model.check->logits[i], 1e-4);
}

TEST_P(ExportedEnsemble, IsRefusedWithOtherShares) {
  const auto path = folder.path() / "model.onnx";
  model.shares = {0.5F, 0.5F};
  EXPECT_FALSE(exporters().front().write(model, path)) << "for three members";
  model.shares = {0.5F, 0.6F, -0.1F};
  EXPECT_FALSE(exporters().front().write(model, path));
  model.shares = {0.5F, 0.5F, 0.5F};
  EXPECT_FALSE(exporters().front().write(model, path));
}

TEST_P(ExportedEnsemble, IsNotWrittenForPyTorch) {
  for (const ExporterRow& row : exporters()) {
    if (row.name != "pytorch") continue;
    const auto refused = row.write(model, folder.path() / "model");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kExport);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, ExportedEnsemble,
                         ::testing::Values(TaskKind::kClassification, TaskKind::kBinary,
                                           TaskKind::kMultiLabel, TaskKind::kRegression),
                         [](const auto& kind) { return std::string(row_of(kind.param).name); });

// A regression's outputs are in the units of the data: every member's last layer is scaled.
TEST(Ensemble, OfNumbersGivesThemInTheUnitsOfTheData) {
  Model model = testing::ensemble_of(TaskKind::kRegression, 2);
  Preprocessing data;
  data.target_mean = {100, -5};
  data.target_deviation = {10, 2};
  std::vector<float> images(2 * 4 * 4, 0.5F);
  const auto of = [&] {
    return outputs_from(model,
                        logits_of(model.network, model.weights, images, "reference").value());
  };
  const std::vector<float> standardised = of();
  ASSERT_TRUE(fold_target_scale(data, model));
  const std::vector<float> scaled = of();
  EXPECT_NEAR(scaled[0], 100 + 10 * standardised[0], 1e-3);
  EXPECT_NEAR(scaled[1], -5 + 2 * standardised[1], 1e-3);
}

}  // namespace
}  // namespace detol
