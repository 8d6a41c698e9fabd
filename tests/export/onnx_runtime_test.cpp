// Our exporter and our reader could be wrong in the same way: ONNX Runtime, where python3 has it,
// must compute from every kind of layer what the reference backend computes.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/export/sample_models.h"
#include "tests/support/temp_folder.h"
#include "trainer/predict.h"

namespace detol {
namespace {

constexpr std::int64_t kImages = 3;
constexpr int kNoRuntime = 77;  // the exit code of run_onnx.py

void write_floats(const std::filesystem::path& path, const std::vector<float>& floats) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(floats.data()),
             static_cast<std::streamsize>(floats.size() * sizeof(float)));
}

// Writes the model, random images, and the reference backend's logits for them.
void write_case(const std::filesystem::path& stem, const Model& model) {
  Rng rng(7);
  std::vector<float> pixels, normalised;
  const Shape shape = model.network.input_shape();
  const std::int64_t plane = shape.height * shape.width;
  for (std::int64_t i = 0; i < kImages * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    pixels.push_back(static_cast<float>(rng.uniform()));
    normalised.push_back((pixels.back() - model.mean[channel]) / model.deviation[channel]);
  }
  const auto logits = logits_of(model.network, model.weights, normalised, "reference");
  ASSERT_TRUE(logits) << logits.error().message;
  const auto* onnx = &exporters().front();
  ASSERT_EQ(onnx->name, "onnx");
  ASSERT_TRUE(onnx->write(model, stem.string() + ".onnx"));
  write_floats(stem.string() + ".pixels", pixels);
  write_floats(stem.string() + ".logits", *logits);
}

TEST(OnnxRuntime, ComputesWhatTheReferenceBackendComputes) {
  const testing_support::TempFolder folder;
  for (int kind = 0; kind <= static_cast<int>(kLastLayerKind); ++kind) {
    const auto layer = static_cast<LayerKind>(kind);
    write_case(folder.path() / to_text(layer), testing::model_of(testing::network_with(layer)));
  }
  Model everything = testing::model_of(testing::network_of_everything());
  everything.mean = {0.2f, 0.4f, 0.6f};
  everything.deviation = {0.5f, 0.3f, 0.1f};
  write_case(folder.path() / "everything", everything);
  const std::string script = DETOL_SOURCE_DIR "/tests/export/run_onnx.py";
  const int status = std::system(("python3 " + script + " " + folder.path().string()).c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoRuntime || WEXITSTATUS(status) == 127)
    GTEST_SKIP() << "python3 has no onnxruntime: only detol has read these files";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace detol
