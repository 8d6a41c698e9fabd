// Writes random networks with drawn weights as ONNX and PyTorch files, plain and with batch norms
// folded, and what the reference backend computes from random inputs.
//
//   random_exports FOLDER COUNT SPACE.yaml CxHxW OUTPUTS   networks of a space file
//   random_exports FOLDER COUNT layers                     random graphs of all layer types
//
// FOLDER gets I.onnx, I.pt, I.py, I-folded.onnx, I-folded.pt, I-folded.py, I.inputs and I.logits.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "encodings/study/study_config.h"
#include "export/export.h"
#include "tests/export/random_model.h"
#include "trainer/predict.h"

namespace {

using namespace detol;

constexpr std::int64_t kImages = 64;

template <typename T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

void check(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

// Draws numbers of an order of magnitude that training leaves: logits stay of ordinary size.
float drawn(std::string_view tensor, Rng& rng) {
  if (tensor == "running_var") return static_cast<float>(rng.uniform(0.5, 2));
  if (tensor == "gamma") return static_cast<float>(rng.uniform(0.5, 1.5));
  return static_cast<float>(0.3 * rng.normal());  // bias, beta, running_mean
}

Model model_of(Network network, TaskKind task, Rng& rng) {
  Model model;
  model.network = std::move(network);
  model.weights = initial_weights(model.network, rng.below(1u << 30));
  const std::vector<NetworkParameter> parameters = model.network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].spec.name == "weight") continue;
    for (float& number : model.weights[i].data) number = drawn(parameters[i].spec.name, rng);
  }
  for (std::int64_t c = 0; c < model.network.input_shape().channels; ++c) {
    model.mean.push_back(static_cast<float>(rng.uniform(0.2, 0.6)));
    model.deviation.push_back(static_cast<float>(rng.uniform(0.2, 0.4)));
  }
  model.properties = {{"study", "random"}};
  model.is_raw = true;  // floats in, logits out, as in PyTorch
  model.task = task;
  return model;
}

void write_floats(const std::string& path, const std::vector<float>& floats) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(floats.data()),
             static_cast<std::streamsize>(floats.size() * sizeof(float)));
}

void write_exports(const Model& model, const std::string& stem) {
  for (const ExporterRow& row : exporters()) {
    if (row.name == "onnx" || row.name == "pytorch")
      check(row.write(model, stem + std::string(row.extension)));
  }
}

void write_case(Model model, const std::string& stem, Rng& rng) {
  const Shape shape = model.network.input_shape();
  const std::int64_t plane = shape.height * shape.width;
  std::vector<float> inputs, normalised;
  for (std::int64_t i = 0; i < kImages * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    inputs.push_back(static_cast<float>(rng.uniform()));
    normalised.push_back((inputs.back() - model.mean[channel]) / model.deviation[channel]);
  }
  write_floats(stem + ".inputs", inputs);
  write_floats(stem + ".logits",
               or_exit(logits_of(model.network, model.weights, normalised, "reference")));
  write_exports(model, stem);
  check(fold_batch_norms(model));
  write_exports(model, stem + "-folded");
}

Task task_of(const StudyConfig& study, const char* shape, const char* outputs) {
  Task task{.input = {}, .classes = std::atoi(outputs), .kind = study.data.task};
  if (std::sscanf(shape, "%ldx%ldx%ld", &task.input.channels, &task.input.height,
                  &task.input.width) == 3)
    return task;
  std::fprintf(stderr, "%s is no shape like 3x32x32\n", shape);
  std::exit(1);
}

void write_space(const std::string& folder, int count, char** space) {
  const StudyConfig study = or_exit(load_study_config(or_exit(read_file(space[0])), space[0]));
  const Task task = task_of(study, space[1], space[2]);
  Rng rng(1);
  for (int i = 0; i < count;) {
    auto candidate = study.candidate(study.space.sample(rng), task);
    if (!candidate) continue;  // too large
    write_case(model_of(std::move(candidate->network), task.kind, rng),
               folder + "/" + std::to_string(i++), rng);
  }
}

void write_layers(const std::string& folder, int count) {
  Rng rng(1);
  for (int i = 0; i < count; ++i) {
    Network network = testing::RandomNetwork(static_cast<std::uint64_t>(i)).build();
    write_case(model_of(std::move(network), TaskKind::kClassification, rng),
               folder + "/" + std::to_string(i), rng);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr,
                 "usage: random_exports FOLDER COUNT (layers | SPACE.yaml CxHxW OUTPUTS)\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  if (argc == 4)
    write_layers(argv[1], std::atoi(argv[2]));
  else
    write_space(argv[1], std::atoi(argv[2]), argv + 3);
}
