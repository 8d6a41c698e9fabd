// A .pt file holds the model's tensors and nothing that runs, and the class beside it computes what
// the model computes, as PyTorch says where python3 has it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <gtest/gtest.h>

#include "core/file.h"
#include "export/formats.h"
#include "export/pytorch_forward.h"
#include "export/pytorch_layers.h"
#include "export/pytorch_names.h"
#include "tests/export/python_cases.h"
#include "tests/export/random_model.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing::model_of;
using testing::network_of_everything;

// Returns a network whose nodes have these names.
Network chain_of(const std::vector<std::string>& names) {
  NetworkBuilder b({2, 1, 1});
  NodeId x = b.input();
  for (const std::string& name : names) x = b.add({.kind = LayerKind::kBatchNorm}, {x}, name);
  return b.build(x).value();
}

TEST(PyTorch, NamesLayersAsPythonMay) {
  const Network network =
      chain_of({"stages.0.conv", "stages_0.conv", "0.bn", "for", "x", "class-1", "for_"});
  EXPECT_EQ(attribute_names(network),
            (std::vector<std::string>{"input_", "stages_0_conv", "stages_0_conv_", "layer_0_bn",
                                      "for_", "x_", "class_1", "for__"}));
}

TEST(PyTorch, WritesEachLayersModuleWithAllOfItsSettings) {
  struct Case {
    Layer layer;
    const char* line;
  };
  const Case cases[] = {
      {{.kind = LayerKind::kConv, .channels = 8, .kernel = 3, .bias = true},
       "nn.Conv2d(4, 8, 3, padding=1)"},
      {{.kind = LayerKind::kConv, .channels = 8, .kernel = 1, .stride = 2, .bias = true},
       "nn.Conv2d(4, 8, 1, stride=2)"},
      {{.kind = LayerKind::kConv, .channels = 4, .kernel = 3, .groups = 4},
       "nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False)"},
      {{.kind = LayerKind::kConv, .channels = 8, .kernel = 3, .dilation = 2, .bias = true},
       "nn.Conv2d(4, 8, 3, padding=2, dilation=2)"},
      {{.kind = LayerKind::kMaxPool, .kernel = 3, .stride = 2},
       "nn.MaxPool2d(3, stride=2, padding=1)"},
      {{.kind = LayerKind::kMaxPool, .kernel = 2, .stride = 2}, "nn.MaxPool2d(2, stride=2)"},
      {{.kind = LayerKind::kAvgPool, .kernel = 3, .stride = 1},
       "nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)"},
      {{.kind = LayerKind::kAvgPool, .kernel = 2, .stride = 2}, "nn.AvgPool2d(2, stride=2)"},
      {{.kind = LayerKind::kBatchNorm}, "nn.BatchNorm2d(4)"},
      {{.kind = LayerKind::kGlobalAvgPool}, "nn.AdaptiveAvgPool2d(1)"},
      {{.kind = LayerKind::kDropout, .rate = 0.25}, "nn.Dropout(0.25)"},
      {{.kind = LayerKind::kDense, .channels = 5, .bias = true}, "nn.Linear(256, 5)"},
      {{.kind = LayerKind::kDense, .channels = 5}, "nn.Linear(256, 5, bias=False)"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kRelu}, "nn.ReLU()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kSilu}, "nn.SiLU()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kSigmoid}, "nn.Sigmoid()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kGelu}, "nn.GELU()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kGeluTanh},
       "nn.GELU(approximate='tanh')"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kTanh}, "nn.Tanh()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kLeakyRelu}, "nn.LeakyReLU()"},
      {{.kind = LayerKind::kActivation, .activation = Activation::kHardSwish}, "nn.Hardswish()"},
      {{.kind = LayerKind::kLayerNorm}, "nn.LayerNorm(4)"},
      {{.kind = LayerKind::kFlatten}, ""}};
  for (const auto& [layer, line] : cases) {
    NetworkBuilder b({4, 8, 8});
    const Network network = b.build(b.add(layer, {b.input()})).value();
    EXPECT_EQ(module_of(network, 1, /*reads_matrix=*/false), line);
  }
  EXPECT_EQ(module_of(chain_of({"norm"}), 1, /*reads_matrix=*/true), "nn.BatchNorm1d(2)");
}

// A value that more than the next layer reads has a name of its own.
TEST(PyTorch, WritesForwardAsTheLayersReadEachOther) {
  NetworkBuilder b({2, 4, 4});
  const Layer conv{.kind = LayerKind::kConv, .channels = 3};
  const Activation sigmoid = Activation::kSigmoid;
  Layer levels{.kind = LayerKind::kQuantize};
  levels.scale = 0.5F;
  levels.zero_point = 3;
  const NodeId read = b.add(levels, {b.input()}, "q1");
  const NodeId first = b.add(conv, {read}, "c1"), second = b.add(conv, {read}, "c2");
  const NodeId sum = b.add({.kind = LayerKind::kAdd}, {first, second}, "s1");
  NodeId x = b.add({.kind = LayerKind::kGlobalAvgPool}, {sum}, "g1");
  x = b.add({.kind = LayerKind::kActivation, .activation = sigmoid}, {x}, "g2");
  x = b.add({.kind = LayerKind::kScale}, {sum, x}, "m1");
  x = b.add({.kind = LayerKind::kConcat}, {x, first}, "k1");
  x = b.add({.kind = LayerKind::kLayerNorm}, {x}, "n1");
  x = b.add({.kind = LayerKind::kDense, .channels = 5}, {x}, "d1");
  EXPECT_EQ(torch_code(b.build(x).value()).forward,
            R"(        x = (inputs - self.mean) / self.deviation
        q1 = (((x / 0.5).round() + 3).clamp(0, 255) - 3) * 0.5
        c2 = self.c2(q1)  # 3x4x4
        c1 = self.c1(q1)  # 3x4x4
        s1 = c1 + c2
        x = self.g1(s1)  # 3x1x1
        x = self.g2(x)
        x = s1 * x
        x = torch.cat([x, c1], 1)  # 6x4x4
        x = self.n1(x.movedim(1, -1)).movedim(-1, 1)
        x = self.d1(x.flatten(1))  # 5
        return x
)");
}

TEST(PyTorch, GivesEveryTensorOfTheModelToPythonsOwnModules) {
  const testing_support::TempFolder folder;
  Model model = model_of(network_of_everything());
  model.class_names = {"a \"\"\"quoted\"\"\" one", "back\\slash", "\u00e9", "d"};
  testing::write_export((folder.path() / "model").string(), model, "pytorch");
  const auto code = testing::run_python("read_state_dict.py", folder.path());
  if (!code) GTEST_SKIP() << "there is no python3";
  ASSERT_EQ(*code, 0);
  std::string names, floats;
  for (const TorchTensor& tensor : state_dict_of(model)) {
    names += fmt::format("{} {}\n", tensor.name, tensor.shape);
    floats.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size_bytes());
  }
  EXPECT_EQ(read_file(folder.path() / "model.names").value(), names);
  EXPECT_EQ(read_file(folder.path() / "model.floats").value(), floats);
  EXPECT_EQ(read_file(folder.path() / "model.classes").value(),
            fmt::format("{}", fmt::join(model.class_names, "\n")));
}

// Writes the model as PyTorch reads it, with the shape of its input.
void write_torch_case(const std::filesystem::path& stem, const Model& model) {
  testing::write_case(stem, model, "pytorch");
  const Shape& shape = model.network.input_shape();
  std::ofstream(stem.string() + ".shape")
      << shape.channels << ' ' << shape.height << ' ' << shape.width;
}

TEST(PyTorch, ComputesWhatTheReferenceBackendComputes) {
  const testing_support::TempFolder folder;
  for (const LayerRow& row : layer_rows()) {
    write_torch_case(folder.path() / row.name, model_of(testing::network_with(row.kind)));
  }
  write_torch_case(folder.path() / "everything", model_of(network_of_everything()));
  write_torch_case(folder.path() / "vectors", model_of(chain_of({"one", "two"})));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Network network = testing::RandomNetwork(seed).build();
    write_torch_case(folder.path() / fmt::format("random{}", seed), model_of(network, seed));
  }
  const auto code = testing::run_python("run_pytorch.py", folder.path());
  if (!code) GTEST_SKIP() << "python3 has no torch: nothing has run these files";
  EXPECT_EQ(*code, 0);
}

TEST(PyTorch, NoticesAnotherBitInAnyTensor) {
  const Model model = model_of(network_of_everything());
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    Model other = model;
    other.weights[i].data.back() *= 1 + 1e-6f;
    const auto compared = compare_pytorch_weights(pytorch_weights(other).value(), model);
    ASSERT_FALSE(compared);
    const std::string expected =
        fmt::format("tensor '{}', element {} is", state_dict_of(model)[i + 2].name,
                    model.weights[i].data.size() - 1);
    EXPECT_NE(compared.error().message.find(expected), std::string::npos)
        << compared.error().message;
  }
}

TEST(PyTorch, NoticesAnotherNameOfATensor) {
  const auto compared = compare_pytorch_weights(
      pytorch_weights(model_of(chain_of({"norm1"}))).value(), model_of(chain_of({"norm2"})));
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().message, "its record 'archive/data.pkl' is not the model's");
}

TEST(PyTorch, NamesTheLineOfTheSourceThatDiffers) {
  const Model model = model_of(network_of_everything());
  std::string source = pytorch_source(model).value();
  source.insert(source.find('\n') + 1, "changed");
  const auto compared = compare_pytorch_source(source, model);
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().message, "line 2 is not the model's");
}

// Returns whether the bytes are the model's; an error must be one short line.
bool is_equal(const std::string& bytes, const Model& model) {
  const Result<void> compared = compare_pytorch_weights(bytes, model);
  if (compared) return true;
  EXPECT_EQ(compared.error().message.find('\n'), std::string::npos) << compared.error().message;
  EXPECT_LT(compared.error().message.size(), 500u) << compared.error().message;
  return false;
}

TEST(PyTorch, WeightsThatAreCutAnywhereAreErrors) {
  const Model model = model_of(network_of_everything());
  const std::string bytes = pytorch_weights(model).value();
  for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 64)
    EXPECT_FALSE(is_equal(bytes.substr(0, length), model)) << length;
}

TEST(PyTorch, WeightsWithFlippedBitsAreComparedOrErrors) {
  const Model model = model_of(testing::network_with(LayerKind::kBatchNorm));
  const std::string bytes = pytorch_weights(model).value();
  ASSERT_TRUE(is_equal(bytes, model));
  Rng rng(11);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (std::uint64_t flips = 1 + rng.below(4); flips > 0; --flips)
      damaged[rng.below(damaged.size())] ^= static_cast<char>(1u << rng.below(8));
    is_equal(damaged, model);
  }
}

}  // namespace
}  // namespace detol
