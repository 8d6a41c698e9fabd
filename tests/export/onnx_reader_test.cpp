// Tests that an ONNX file with an invalid graph is refused in one line that names what is wrong.

#include <onnx/onnx_pb.h>

#include <functional>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "export/read_model.h"
#include "tests/export/sample_models.h"

namespace detol {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;
using testing::model_of;
using testing::network_of_everything;

onnx::ModelProto exported() {
  Model model = model_of(network_of_everything());
  model.is_raw = true;
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(onnx_bytes(model).value()));
  return proto;
}

NodeProto& first_of(GraphProto& graph, std::string_view op) {
  for (NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() == op) return node;
  }
  ADD_FAILURE() << "no " << op;
  return *graph.mutable_node(0);
}

onnx::AttributeProto& attribute(NodeProto& node, std::string_view name) {
  for (onnx::AttributeProto& found : *node.mutable_attribute()) {
    if (found.name() == name) return found;
  }
  ADD_FAILURE() << "no " << name;
  return *node.mutable_attribute(0);
}

onnx::TensorProto& constant(GraphProto& graph, std::string_view name) {
  for (onnx::TensorProto& found : *graph.mutable_initializer()) {
    if (found.name() == name) return found;
  }
  ADD_FAILURE() << "no " << name;
  return *graph.mutable_initializer(0);
}

// Lie is a change that makes a valid graph invalid, and the words that the error must have.
struct Lie {
  const char* name;
  std::function<void(GraphProto&)> change;
  const char* words;
  friend void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.name; }
};

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {
      {"UnknownOperator", [](GraphProto& g) { first_of(g, "Conv").set_op_type("ConvTranspose"); },
       "node 'stem': detol writes no operator 'ConvTranspose'"},
      {"OperatorOfAnotherDomain", [](GraphProto& g) { first_of(g, "Conv").set_domain("mine"); },
       "detol writes no operator 'Conv'"},
      {"MissingConstant", [](GraphProto& g) { constant(g, "stem.weight").set_name("gone"); },
       "the constant 'stem.weight' is missing"},
      {"ConstantTwice", [](GraphProto& g) { constant(g, "stem.weight").set_name("input.mean"); },
       "the constant 'input.mean' stands there twice"},
      {"ConstantOfTwoLayers",
       [](GraphProto& g) {
         NodeProto& norm = first_of(g, "BatchNormalization");
         norm.set_input(2, norm.input(1));
       },
       "belongs to two layers"},
      {"TooFewNumbers",
       [](GraphProto& g) { constant(g, "stem.weight").mutable_raw_data()->resize(8); },
       "holds 8 bytes of raw_data; its shape asks for 864"},
      {"AnotherShape", [](GraphProto& g) { constant(g, "stem.weight").set_dims(1, 4); },
       "the constant 'stem.weight' has not the shape of its layer"},
      {"HugeShape", [](GraphProto& g) { constant(g, "stem.weight").set_dims(0, 1LL << 62); },
       "is impossible"},
      {"NegativeShape", [](GraphProto& g) { constant(g, "stem.weight").set_dims(0, -8); },
       "-8 output channels"},
      {"ExternalData",
       [](GraphProto& g) {
         constant(g, "stem.weight").set_data_location(onnx::TensorProto::EXTERNAL);
       },
       "the constant 'stem.weight' keeps its numbers in another file"},
      {"NumbersOfAnotherType",
       [](GraphProto& g) { constant(g, "stem.weight").set_data_type(onnx::TensorProto::DOUBLE); },
       "is of another type"},
      {"Cycle",
       [](GraphProto& g) { first_of(g, "Conv").set_input(0, first_of(g, "Add").output(0)); },
       "which no node before it computes"},
      {"NodeThatReadsItself",
       [](GraphProto& g) { first_of(g, "Conv").set_input(0, first_of(g, "Conv").output(0)); },
       "node 'stem': it reads 'stem', which no node before it computes"},
      {"NameComputedTwice",
       [](GraphProto& g) { first_of(g, "MaxPool").set_output(0, first_of(g, "Conv").output(0)); },
       "is computed twice"},
      {"NodeNameTwice",
       [](GraphProto& g) { first_of(g, "MaxPool").set_name(first_of(g, "Relu").name()); },
       "two layers are called"},
      {"HugeInput",
       [](GraphProto& g) {
         auto& shape = *g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
         shape.mutable_dim(2)->set_dim_value(1LL << 40);
       },
       "its inputs are not those of the data"},
      {"InputWithoutExtents",
       [](GraphProto& g) {
         auto& shape = *g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
         shape.mutable_dim(2)->set_dim_param("H");
       },
       "its inputs are not those of the data"},
      {"TwoInputs", [](GraphProto& g) { *g.add_input() = g.input(0); },
       "its graph has 2 inputs instead of 1"},
      {"NoOutput", [](GraphProto& g) { g.clear_output(); }, "its graph has no output"},
      {"OutputThatNoNodeComputes", [](GraphProto& g) { g.mutable_output(0)->set_name("x"); },
       "its outputs are not those of the data"},
      {"OtherEpsilon",
       [](GraphProto& g) { attribute(first_of(g, "BatchNormalization"), "epsilon").set_f(0.1f); },
       "epsilon is 0.1, not 1e-5"},
      {"OtherPadding", [](GraphProto& g) { attribute(first_of(g, "Conv"), "pads").set_ints(0, 0); },
       "its padding must be 1 above and below, 1 left and right"},
      {"OblongStride",
       [](GraphProto& g) { attribute(first_of(g, "Conv"), "strides").set_ints(0, 2); },
       "must be square"},
      {"HugeKernel",
       [](GraphProto& g) {
         auto& kernel = attribute(first_of(g, "MaxPool"), "kernel_shape");
         kernel.set_ints(0, 1LL << 62);
         kernel.set_ints(1, 1LL << 62);
       },
       "of 1 to 1024"},
      {"GroupsThatDoNotDivide",
       [](GraphProto& g) { attribute(first_of(g, "Conv"), "group").set_i(2); }, "groups divide"},
      {"AttributeOfAnotherType",
       [](GraphProto& g) {
         attribute(first_of(g, "Conv"), "group").set_type(onnx::AttributeProto::FLOAT);
       },
       "the attribute 'group' is of another type"},
      {"AttributeTwice",
       [](GraphProto& g) {
         NodeProto& conv = first_of(g, "Conv");
         *conv.add_attribute() = conv.attribute(0);
       },
       "stands there twice"},
      {"UnknownAttribute",
       [](GraphProto& g) { attribute(first_of(g, "Conv"), "group").set_name("auto_pad"); },
       "detol writes no attribute 'auto_pad' there"},
      {"OblongDilation",
       [](GraphProto& g) { attribute(first_of(g, "Conv"), "dilations").set_ints(0, 2); },
       "must be square"},
      {"EvenKernel",
       [](GraphProto& g) { attribute(first_of(g, "MaxPool"), "kernel_shape").set_ints(0, 4); },
       "inputs differ"},
      {"ConcatAlongAnotherAxis",
       [](GraphProto& g) { attribute(first_of(g, "Concat"), "axis").set_i(2); },
       "the attribute 'axis' is 2; detol writes 1"},
      {"ConcatOfChannelsLast",
       [](GraphProto& g) {
         first_of(g, "Concat").set_input(1, first_of(g, "Transpose").output(0));
       },
       "which no node before it computes"},
      {"OtherEpsilonOfLayerNorm",
       [](GraphProto& g) { attribute(first_of(g, "LayerNormalization"), "epsilon").set_f(0.1f); },
       "LayerNormalization is not as detol writes it"},
      {"LayerNormOfChannelsFirst",
       [](GraphProto& g) {
         first_of(g, "LayerNormalization").set_input(0, first_of(g, "Concat").output(0));
       },
       "it reads the images 'concat"},
      {"LayerNormOfOtherAxes",
       [](GraphProto& g) { attribute(first_of(g, "LayerNormalization"), "axis").set_i(1); },
       "LayerNormalization is not as detol writes it"},
      {"TransposeOfOtherAxes",
       [](GraphProto& g) { attribute(first_of(g, "Transpose"), "perm").set_ints(1, 3); },
       "it moves other axes"},
      {"ChannelsLastReadAsFirst",
       [](GraphProto& g) {
         first_of(g, "Dropout").set_input(0, first_of(g, "LayerNormalization").output(0));
       },
       "whose channels come last, as if they came first"},
      {"UntransposedGemm", [](GraphProto& g) { attribute(first_of(g, "Gemm"), "transB").set_i(0); },
       "the attribute 'transB' is 0; detol writes 1"},
      {"NoNormalisation", [](GraphProto& g) { first_of(g, "Div").set_op_type("Mul"); },
       "node 'input.normalised' is not the one that detol writes there"},
      {"OtherNormalisation",
       [](GraphProto& g) { constant(g, "input.mean").mutable_raw_data()->at(3) ^= 1; },
       "the constant 'input.mean' is not that of detol"},
      {"DivisionByZero",
       [](GraphProto& g) { constant(g, "input.deviation").mutable_raw_data()->assign(12, '\0'); },
       "the constant 'input.deviation' is not that of detol"},
      {"ImpossibleDropout",
       [](GraphProto& g) {
         constant(g, first_of(g, "Dropout").input(1)).mutable_raw_data()->assign(8, '\xff');
       },
       "its ratio is"},
      {"NoNodes", [](GraphProto& g) { g.clear_node(); }, "its graph has too few nodes"},
      {"WeightThatDiverged",
       [](GraphProto& g) { constant(g, "stem.weight").mutable_raw_data()->assign(864, '\xff'); },
       "tensor 'stem.weight' holds NaN or infinity"},
      {"ShapesThatDoNotMeet",
       [](GraphProto& g) { first_of(g, "Add").set_input(0, "input.normalised"); }, "inputs differ"},
  };
  return all;
}

class OnnxLies : public ::testing::TestWithParam<Lie> {};

TEST_P(OnnxLies, AreToldInOneLine) {
  onnx::ModelProto proto = exported();
  GetParam().change(*proto.mutable_graph());
  const auto read = read_onnx(proto.SerializeAsString());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInput);
  EXPECT_NE(read.error().message.find(GetParam().words), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, OnnxLies, ::testing::ValuesIn(lies()),
                         [](const auto& lie) { return std::string(lie.param.name); });

TEST(OnnxReader, RefusesAnotherOperatorSet) {
  onnx::ModelProto proto = exported();
  proto.mutable_opset_import(0)->set_version(12);
  EXPECT_EQ(read_onnx(proto.SerializeAsString()).error().message,
            "it is not written for ONNX's operator set 13 or 17");
}

TEST(OnnxReader, RefusesModelsThatDetolDidNotWrite) {
  onnx::ModelProto proto = exported();
  proto.clear_metadata_props();
  const auto read = read_onnx(proto.SerializeAsString());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("detol reads the models that detol wrote"),
            std::string::npos);
}

TEST(OnnxReader, PutsUntrustedNamesInQuotesOnOneLine) {
  onnx::ModelProto proto = exported();
  first_of(*proto.mutable_graph(), "Conv").set_op_type(std::string(1000, '\n'));
  const auto read = read_onnx(proto.SerializeAsString());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  EXPECT_LT(read.error().message.size(), 300u);
}

Model model_that_activates(Activation function) {
  NetworkBuilder b({2, 3, 3});
  NodeId x = b.add({.kind = LayerKind::kActivation, .activation = function}, {b.input()});
  x = b.add({.kind = LayerKind::kFlatten}, {x});
  return model_of(b.build(b.add({.kind = LayerKind::kDense, .channels = 2}, {x})).value());
}

TEST(OnnxReader, ReadsEveryActivationAsTheOneThatWasWritten) {
  for (const ActivationRow& row : kActivations) {
    const auto read = read_onnx(onnx_bytes(model_that_activates(row.function)).value());
    ASSERT_TRUE(read) << row.name << ": " << read.error().message;
    ASSERT_EQ(read->network.nodes().size(), 4u) << row.name;
    EXPECT_EQ(read->network.nodes()[1].layer.activation, row.function) << row.name;
  }
}

// Another slope or gate is another function.
TEST(OnnxReader, RefusesAnActivationWithAnotherNumber) {
  for (const Activation function : {Activation::kGelu, Activation::kGeluTanh}) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(onnx_bytes(model_that_activates(function)).value()));
    for (onnx::TensorProto& constant : *proto.mutable_graph()->mutable_initializer()) {
      if (!constant.name().ends_with(".number")) continue;
      constant.mutable_raw_data()->at(0) ^= 1;
      EXPECT_FALSE(read_onnx(proto.SerializeAsString())) << constant.name();
      constant.mutable_raw_data()->at(0) ^= 1;
    }
    EXPECT_TRUE(read_onnx(proto.SerializeAsString()));
  }
  for (const Activation function : {Activation::kLeakyRelu, Activation::kHardSwish}) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(onnx_bytes(model_that_activates(function)).value()));
    for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
      for (onnx::AttributeProto& one : *node.mutable_attribute()) {
        if (one.type() == onnx::AttributeProto::FLOAT) one.set_f(one.f() * 2);
      }
    }
    EXPECT_FALSE(read_onnx(proto.SerializeAsString())) << to_text(function);
  }
}

TEST(OnnxReader, TellsSiluFromAGateByItsName) {
  NetworkBuilder b({2, 1, 1});
  const NodeId s = b.add({.kind = LayerKind::kActivation, .activation = Activation::kSigmoid},
                         {b.input()}, "gate");
  const NodeId scaled = b.add({.kind = LayerKind::kScale}, {b.input(), s});
  const NodeId silu =
      b.add({.kind = LayerKind::kActivation, .activation = Activation::kSilu}, {scaled});
  const Model model = model_of(b.build(silu).value());
  const Model read = read_onnx(onnx_bytes(model).value()).value();
  ASSERT_EQ(read.network.nodes().size(), 4u);
  EXPECT_EQ(read.network.nodes()[2].layer.kind, LayerKind::kScale);
  EXPECT_EQ(read.network.nodes()[3].layer.activation, Activation::kSilu);
}

}  // namespace
}  // namespace detol
