// The files that say to a program which network it trains.

#include "models/network_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/rng.h"
#include "encodings/network/canonical.h"
#include "encodings/network/layer_json.h"
#include "export/read_model.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

StudyConfig space(std::string_view argument) {
  return load_study_config(fmt::format(R"(version: 1
study: nets
command: {{run: [train, '{}'], input: [3, 8, 8], outputs: 4}}
architecture:
  type: chain
  stages:
    - depth: {{type: int, low: 1, high: 3}}
      block: {{op: {{type: categorical, choices: [conv, residual, mbconv]}}, kernel: 3}}
objectives: [{{metric: accuracy, direction: maximize}}]
)",
                                       argument),
                           "s.yaml")
      .value();
}

Job job_of(const StudyConfig& config, const std::filesystem::path& folder, std::uint64_t seed) {
  Rng rng(seed);
  Job job{.trial = 7, .seed = seed, .folder = folder};
  job.genome = config.space.sample(rng);
  job.candidate = config.candidate(job.genome, {}).value();
  return job;
}

TEST(NetworkFiles, AreTheNetworkInEveryFormat) {
  const StudyConfig config = space("{network.onnx}");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const TempFolder folder;
    const Job job = job_of(config, folder.path(), seed);
    const auto written = write_network_files(config, job);
    ASSERT_TRUE(written) << written.error().message;
    const auto json = nlohmann::json::parse(read_file(folder.path() / "network.json").value());
    EXPECT_EQ(json["network"]["params"], job.candidate.cost.params);
    EXPECT_EQ(json["network"]["flops"], job.candidate.cost.flops);
    EXPECT_EQ(json["properties"]["trial"], "7");
    ASSERT_EQ(json["layers"].size(), job.candidate.network.nodes().size());
    const auto layers = architecture_json(job.candidate.network);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (const auto& [key, value] : layers[i].items()) EXPECT_EQ(json["layers"][i][key], value);
    }
    const Model model = read_model(folder.path() / "network.onnx").value();
    EXPECT_EQ(canonical_hash(model.network), job.candidate.arch_hash);
    EXPECT_TRUE(model.is_raw);
    const Weights initial = initial_weights(job.candidate.network, job.seed);
    const Weights read = in_order_of(job.candidate.network, model.weights);
    for (std::size_t i = 0; i < initial.size(); ++i) EXPECT_EQ(read[i].data, initial[i].data);
    const std::string python = read_file(folder.path() / "network.py").value();
    EXPECT_NE(python.find("class Model(nn.Module):"), std::string::npos);
    EXPECT_EQ(python.find("def load("), std::string::npos) << "there is nothing to load";
  }
}

TEST(NetworkFiles, AreTheSameInEveryAttempt) {
  const StudyConfig config = space("{network.onnx}");
  const TempFolder folder;
  const Job job = job_of(config, folder.path(), 3);
  ASSERT_TRUE(write_network_files(config, job));
  const auto bytes = [&](const char* name) { return read_file(folder.path() / name).value(); };
  const std::string json = bytes("network.json"), onnx = bytes("network.onnx");
  std::filesystem::remove(folder.path() / "network.onnx");
  ASSERT_TRUE(write_network_files(config, job));
  EXPECT_EQ(bytes("network.onnx"), onnx);
  EXPECT_EQ(bytes("network.json"), json);
}

TEST(NetworkFiles, HaveNoWeightsWhereNoArgumentNamesThem) {
  const StudyConfig config = space("{network.py}");
  const TempFolder folder;
  ASSERT_TRUE(write_network_files(config, job_of(config, folder.path(), 3)));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "network.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "network.onnx"));
}

TEST(NetworkFiles, ThatCannotBeWrittenAreTheDisksFault) {
  const StudyConfig config = space("x");
  const auto written = write_network_files(config, job_of(config, "/nowhere/at/all", 3));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStorage);
}

}  // namespace
}  // namespace detol
