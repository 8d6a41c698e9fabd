// The section `layers` of encoding `chain`: whole layers, one after another, under MetaQNN's rules.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/network/cost.h"
#include "tests/encodings/random_genomes.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const Task kTask{{3, 20, 20}, 10};

StudyConfig study_of(const std::string& layers) {
  return load(file_of("chain", "  layers: " + layers + "\n"));
}

struct Case {
  std::string name, layers;
  Shape image = kTask.input;
};

const std::vector<Case> kCases = {
    {"Paper", "{depth: 12}"},
    {"Small", "{depth: 6, kernels: [3], channels: [4], dense: [8], dropout: 0.5}"},
    {"NoDense", "{depth: 8, channels: [4], max_dense: 0, batch_norm: false}"},
    {"OneLayer", "{depth: 1, channels: [4]}"},
    {"OnePixel", "{depth: 8, channels: [4], dense: [8]}", {3, 1, 1}},
    {"Sequence", "{depth: 8, channels: [4], dense: [8]}", {2, 1, 40}},
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.layers;
}

class LayerSpaces : public testing::TestWithParam<Case> {};

TEST_P(LayerSpaces, SamplesMutationsAndCrossoversAreNetworks) {
  const StudyConfig study = study_of(GetParam().layers);
  for (const Genome& genome : random_genomes(study.space, 200)) {
    ASSERT_TRUE(study.space.genome(genome.assignments()));
    const auto made = study.candidate(genome, {GetParam().image, 10});
    ASSERT_TRUE(made) << made.error().reason;
    EXPECT_EQ(made->network.output().shape, (Shape{10, 1, 1}));
  }
}

TEST_P(LayerSpaces, WhatFollowsTheEndChangesNoNetwork) {
  const StudyConfig study = study_of(GetParam().layers);
  const Task task{GetParam().image, 10};
  Rng rng(12);
  for (const Genome& genome : random_genomes(study.space, 30)) {
    const Genome changed = with_other_unexpressed(study.space, genome, rng);
    EXPECT_EQ(study.space.identity(changed), study.space.identity(genome));
    EXPECT_EQ(study.candidate(changed, task)->arch_hash, study.candidate(genome, task)->arch_hash);
  }
}

TEST_P(LayerSpaces, AGenomeIsReadBackAndDecodesFromItsJson) {
  const StudyConfig study = study_of(GetParam().layers);
  const Task task{GetParam().image, 10};
  for (const Genome& genome : random_genomes(study.space, 20)) {
    EXPECT_EQ(study.space.genome(genome.assignments()).value(), genome);
    EXPECT_EQ(hash_of_json("chain", study.architecture_json(genome), task),
              study.candidate(genome, task)->arch_hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, LayerSpaces, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

// Every sequence of layers from a small vocabulary is allowed or refused as the rules say.
TEST(Layers, ObeyTheRulesExhaustively) {
  const StudyConfig study =
      study_of("{depth: 4, kernels: [3], channels: [4], pools: [2x2_2], dense: [8], max_dense: 2}");
  const std::vector<std::string> words = {"conv_3x3_4", "max_pool_2x2_2", "dense_8",
                                          "global_avg_pool", "end"};
  const auto is_allowed = [](const std::vector<std::string>& layers) {
    int dense = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool ends = layers[i] == "end" || layers[i] == "global_avg_pool";
      if (i > 0 && layers[i - 1] == "dense_8" && layers[i] != "dense_8" && layers[i] != "end")
        return false;
      if (i > 0 && layers[i - 1].starts_with("max") && layers[i].starts_with("max")) return false;
      dense += layers[i] == "dense_8" ? 1 : 0;
      if (dense > 2) return false;
      if (ends) return i > 0;
    }
    return true;
  };
  int allowed = 0;
  for (std::size_t code = 0; code < 5 * 5 * 5 * 5; ++code) {
    std::vector<std::string> layers;
    std::vector<std::pair<std::string, Value>> genes;
    for (std::size_t i = 0, rest = code; i < 4; ++i, rest /= 5) {
      layers.push_back(words[rest % 5]);
      genes.emplace_back("architecture.layers[" + std::to_string(i) + "]", layers.back());
    }
    allowed += is_allowed(layers) ? 1 : 0;
    EXPECT_EQ(study.space.genome(genes).has_value(), is_allowed(layers))
        << layers[0] << " " << layers[1] << " " << layers[2] << " " << layers[3];
  }
  EXPECT_GT(allowed, 50);
}

// Returns "name:kind:shape ..." of the layers.
std::string layers_of(const std::string& section, const Task& task = kTask) {
  const Network network = decode("chain", R"({"layers": {)" + section + "}}", task);
  std::string text;
  for (const Node& node : network.nodes()) {
    if (node.name == "input") continue;
    text += (text.empty() ? "" : " ") + node.name + ":" + std::string(to_text(node.layer.kind)) +
            ":" + to_text(node.shape);
  }
  return text;
}

TEST(Layers, ExpandAsDocumented) {
  EXPECT_EQ(layers_of(R"("channels": [8], "kernels": [3], "dense": [6],
                         "word": ["conv_3x3_8", "max_pool_3x3_2", "dense_6", "end", "conv_3x3_8"])"),
            "layers.0.conv:conv:8x20x20 layers.0.bn:batch_norm:8x20x20 "
            "layers.0.act:activation:8x20x20 layers.1.pool:max_pool:8x10x10 "
            "layers.2.pool:global_avg_pool:8x1x1 layers.2.dense:dense:6x1x1 "
            "layers.2.act:activation:6x1x1 head.flatten:flatten:6x1x1 head.linear:dense:10x1x1");
}

TEST(Layers, WithoutBatchNormConvolutionsHaveABiasAndDropoutGrows) {
  const std::string section = R"("channels": [8], "kernels": [3], "batch_norm": false,
      "dropout": 0.5, "word": ["conv_3x3_8", "conv_3x3_8", "conv_3x3_8", "conv_3x3_8",
      "global_avg_pool"])";
  const Network network = decode("chain", R"({"layers": {)" + section + "}}", kTask);
  std::vector<double> rates;
  for (const Node& node : network.nodes()) {
    EXPECT_NE(node.layer.kind, LayerKind::kBatchNorm);
    EXPECT_TRUE(node.layer.kind != LayerKind::kConv || node.layer.bias);
    if (node.layer.kind == LayerKind::kDropout) rates.push_back(node.layer.rate);
  }
  EXPECT_EQ(rates, (std::vector<double>{0.25, 0.5}));
  EXPECT_NE(layers_of(section).find("head.pool:global_avg_pool"), std::string::npos);
}

TEST(Layers, APoolThatIsLargerThanTheImageIsLeftOut) {
  EXPECT_EQ(layers_of(R"("word": ["max_pool_5x5_3", "end"])", {{3, 4, 4}, 10}),
            "head.flatten:flatten:48x1x1 head.linear:dense:10x1x1");
  EXPECT_EQ(layers_of(R"("word": ["max_pool_3x3_2", "end"])", {{3, 1, 9}, 10}),
            "layers.0.pool:max_pool:3x1x5 head.flatten:flatten:15x1x1 head.linear:dense:10x1x1");
}

TEST(Layers, SayWhichRuleIsBroken) {
  const StudyConfig study =
      study_of("{depth: 3, kernels: [3], channels: [4], dense: [8], max_dense: 1}");
  const auto message = [&](const std::vector<std::string>& words) {
    std::vector<std::pair<std::string, Value>> genes;
    for (std::size_t i = 0; i < words.size(); ++i)
      genes.emplace_back("architecture.layers[" + std::to_string(i) + "]", words[i]);
    const auto genome = study.space.genome(genes);
    return genome ? "" : genome.error().message;
  };
  EXPECT_EQ(message({"conv_3x3_4", "dense_8", "end"}), "");
  EXPECT_EQ(message({"conv_3x3_4", "max_pool_2x2_2", "max_pool_3x3_2"}),
            "architecture.layers[2] is a pool after a pool");
  EXPECT_EQ(message({"dense_8", "dense_8", "end"}),
            "architecture.layers[1] is one dense layer too many");
  EXPECT_EQ(message({"conv_3x3_4", "dense_8", "conv_3x3_4"}),
            "architecture.layers[2] follows a dense layer");
}

TEST(Layers, StandInPlaceOfStages) {
  EXPECT_EQ(message_of(file_of("chain", "  layers: {depth: 3}\n  stages: [{block: {op: conv}}]\n")),
            "s.yaml:5:3: architecture: 'layers' cannot stand beside 'stages'");
  EXPECT_EQ(message_of(file_of("chain", "  head: {dropout: 0.1}\n")),
            "s.yaml:5:3: architecture: a chain needs 'stages', a list of at least one item, or "
            "'layers'");
}

TEST(Layers, TheSpaceIsOneDecisionForEachLayer) {
  const StudyConfig study = study_of("{depth: 3, channels: [4], kernels: [3], dense: [8]}");
  EXPECT_EQ(choices_of(study),
            "architecture.layers[0] architecture.layers[1] architecture.layers[2]");
  EXPECT_EQ(accepted_values(study.space.domains()[0]),
            "conv_3x3_4, max_pool_2x2_2, max_pool_3x3_2, max_pool_5x5_3, dense_8");
}

}  // namespace
}  // namespace detol
