// Models that were exported and are read back: ONNX and safetensors.

#include "export/formats.h"
#include "export/read_model.h"
#include "tests/export/random_model.h"
#include "tests/export/sample_models.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

void read(Result<Model> (*read_bytes)(std::string_view), std::string_view bytes) {
  const Result<Model> model = read_bytes(bytes);
  if (!model) return promise_one_line(model.error(), ErrorCode::kInput);
  const Result<void> is_sound = check_model(*model);
  if (!is_sound) throw BrokenPromise("a model that was read: " + is_sound.error().message);
}

std::vector<std::string> seeds_of(Result<std::string> (*write)(const Model&)) {
  std::vector<std::string> seeds;
  for (const LayerKind kind : {LayerKind::kConv, LayerKind::kBatchNorm, LayerKind::kLayerNorm,
                               LayerKind::kScale, LayerKind::kConcat, LayerKind::kDropout})
    seeds.push_back(write(testing::model_of(testing::network_with(kind))).value());
  return seeds;
}

}  // namespace

void fuzz_onnx(std::string_view bytes) {
  read(read_onnx, bytes);
}

std::vector<std::string> onnx_seeds() {
  return seeds_of(onnx_bytes);
}

void fuzz_safetensors(std::string_view bytes) {
  read(read_safetensors, bytes);
}

std::vector<std::string> safetensors_seeds() {
  return seeds_of(safetensors_bytes);
}

}  // namespace detol::fuzz
