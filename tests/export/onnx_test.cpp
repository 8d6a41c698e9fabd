// Tests what an exported ONNX file holds, read with onnx's own types.

#include <onnx/onnx_pb.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "tests/export/sample_models.h"

namespace detol {
namespace {

using testing::model_of;
using testing::network_of_everything;
using testing::network_with;

onnx::ModelProto exported(Model model, bool is_raw = true) {
  model.is_raw = is_raw;
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(onnx_bytes(model).value()));
  return proto;
}

std::vector<std::string> operators(const onnx::ModelProto& proto) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : proto.graph().node()) names.push_back(node.op_type());
  return names;
}

TEST(Onnx, TakesPixelsAndNormalisesThemItselfIfItIsRaw) {
  const onnx::ModelProto proto = exported(model_of(network_with(LayerKind::kInput)));
  EXPECT_EQ(operators(proto), (std::vector<std::string>{"Sub", "Div", "Conv", "Flatten", "Gemm"}));
  EXPECT_EQ(proto.graph().node(0).input(0), "input");
}

TEST(Onnx, TakesAnyNumberOfImages) {
  const onnx::ModelProto proto = exported(model_of(network_of_everything()));
  const auto& shape = proto.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
  EXPECT_EQ(shape.dim(3).dim_value(), 9);
}

TEST(Onnx, TakesBytesAsTheyAreInTheData) {
  const onnx::ModelProto proto = exported(model_of(network_of_everything()), false);
  const auto& input = proto.graph().input(0).type().tensor_type();
  EXPECT_EQ(input.elem_type(), onnx::TensorProto::UINT8);
  EXPECT_EQ(input.shape().dim(1).dim_value(), 9);
  EXPECT_EQ(input.shape().dim(3).dim_value(), 3);
}

std::vector<std::string> outputs(const onnx::ModelProto& proto) {
  std::vector<std::string> names;
  for (const auto& output : proto.graph().output()) names.push_back(output.name());
  return names;
}

TEST(Onnx, GivesLabelsAndProbabilitiesBesideTheLogits) {
  const std::vector<std::string> all = {"label", "probabilities", "logits"};
  for (const TaskKind task :
       {TaskKind::kClassification, TaskKind::kBinary, TaskKind::kMultiLabel}) {
    Model model = model_of(testing::network_with_outputs(task == TaskKind::kBinary ? 1 : 3));
    model.task = task;
    model.class_names = task == TaskKind::kBinary ? std::vector<std::string>{"no", "yes"}
                                                  : std::vector<std::string>{"a", "b", "c"};
    EXPECT_EQ(outputs(exported(model, false)), all);
    EXPECT_EQ(outputs(exported(model, true)), std::vector<std::string>{"logits"});
    const std::string meaning = exported(model, true).doc_string();
    EXPECT_EQ(meaning.find("probability of the second class") != meaning.npos,
              task == TaskKind::kBinary);
    model.class_names.clear();
    EXPECT_EQ(outputs(exported(model, false)), all);
  }
}

TEST(Onnx, GivesOneInputForATableOfNumbersAndElseOneForEachColumn) {
  Model model = model_of(testing::network_of_table(testing::mixed_table()));
  testing::set_table(model, testing::mixed_table());
  const onnx::ModelProto mixed = exported(model, false);
  ASSERT_EQ(mixed.graph().input_size(), 6);
  EXPECT_EQ(mixed.graph().input(0).name(), "age");
  EXPECT_EQ(mixed.graph().input(3).type().tensor_type().elem_type(), onnx::TensorProto::STRING);
  EXPECT_EQ(mixed.graph().input(5).name(), "column.input");  // "input" belongs to the graph
  EXPECT_EQ(mixed.opset_import(1).domain(), "ai.onnx.ml");

  const TableEncoder numbers{.columns = {testing::mixed_table().columns[0]}};
  Model plain = model_of(testing::network_of_table(numbers));
  testing::set_table(plain, numbers);
  const onnx::ModelProto one = exported(plain, false);
  ASSERT_EQ(one.graph().input_size(), 1);
  EXPECT_EQ(one.graph().input(0).name(), "input");
  EXPECT_EQ(one.opset_import_size(), 1);
}

TEST(Onnx, GivesLogitsAsAMatrix) {
  const onnx::ModelProto proto = exported(model_of(network_of_everything()));
  EXPECT_EQ(proto.graph().output(0).name(), "logits");
  EXPECT_EQ(proto.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 4);
}

TEST(Onnx, GivesTheNumbersOfARegressionAsAPrediction) {
  Model model = model_of(network_of_everything());
  model.task = TaskKind::kRegression;
  const onnx::ModelProto proto = exported(model);
  EXPECT_EQ(proto.graph().output(0).name(), "prediction");
  EXPECT_NE(proto.doc_string().find("Output 'prediction': numbers"), std::string::npos);
}

TEST(Onnx, KeepsDropoutWhichDoesNothingThere) {
  const onnx::ModelProto proto = exported(model_of(network_with(LayerKind::kDropout)));
  const onnx::NodeProto& dropout = proto.graph().node(3);
  EXPECT_EQ(dropout.op_type(), "Dropout");
  EXPECT_EQ(dropout.input_size(), 2);  // without the third, training_mode, it is off
}

TEST(Onnx, AsksForTheOldestOperatorSetThatHasItsOperators) {
  for (const LayerRow& row : layer_rows()) {
    const onnx::ModelProto proto = exported(model_of(network_with(row.kind)));
    const bool newer = row.kind == LayerKind::kLayerNorm;
    EXPECT_EQ(proto.opset_import(0).version(), newer ? 17 : 13) << row.name;
    EXPECT_EQ(proto.ir_version(), newer ? 8 : 7) << row.name;
  }
}

TEST(Onnx, WritesWindowsByTheirHeightAndWidth) {
  NetworkBuilder b({2, 1, 9});
  const Layer layer{
      .kind = LayerKind::kConv, .channels = 3, .kernel = 5, .kernel_height = 1, .dilation = 2};
  const Network network = b.build(b.add(layer, {b.input()})).value();
  const onnx::NodeProto conv = exported(model_of(network)).graph().node(2);
  std::map<std::string, std::vector<std::int64_t>> ints;
  for (const auto& attribute : conv.attribute())
    ints[attribute.name()] = {attribute.ints().begin(), attribute.ints().end()};
  EXPECT_EQ(ints["kernel_shape"], (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(ints["pads"], (std::vector<std::int64_t>{0, 4, 0, 4}));
}

TEST(Onnx, EndsInLogitsAlsoAfterDropout) {
  NetworkBuilder b({1, 4, 4});
  const NodeId dense = b.add({.kind = LayerKind::kDense, .channels = 2}, {b.input()});
  const Network network = b.build(b.add({.kind = LayerKind::kDropout}, {dense})).value();
  const onnx::ModelProto proto = exported(model_of(network));
  EXPECT_EQ(proto.graph().node(proto.graph().node_size() - 1).output(0), "logits");
}

TEST(Onnx, KeepsEveryWeightUnderItsName) {
  const Model model = model_of(network_of_everything());
  const onnx::ModelProto proto = exported(model);
  for (const Tensor& tensor : model.weights) {
    const auto& all = proto.graph().initializer();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& other) { return other.name() == tensor.name; });
    ASSERT_NE(found, all.end()) << tensor.name;
    const auto* data = reinterpret_cast<const char*>(tensor.data.data());
    EXPECT_EQ(found->raw_data(), std::string(data, tensor.data.size() * sizeof(float)));
  }
}

TEST(Onnx, SaysInItsMetadataWhatToFeedIt) {
  const onnx::ModelProto proto = exported(model_of(network_of_everything()));
  std::map<std::string, std::string> metadata;
  for (const auto& property : proto.metadata_props()) metadata[property.key()] = property.value();
  EXPECT_EQ(metadata.at("detol.input"), "pixels in [0, 1] (bytes / 255), N x C x H x W");
  EXPECT_EQ(metadata.at("detol.mean"), "[0.25,0.25,0.25]");
  EXPECT_EQ(metadata.at("detol.classes"),
            R"(["T-shirt/top","a \"quoted\" one","class 2","class 3"])");
  EXPECT_EQ(metadata.at("detol.trial"), "17");
  EXPECT_EQ(metadata.at("detol.input_shape"), "[3,9,9]");
  EXPECT_EQ(metadata.at("detol.params"), R"({"lr":0.01,"nesterov":true,"optimizer":"sgd"})");
  EXPECT_EQ(metadata.at("detol.metrics"), R"({"val_accuracy":0.91})");
}

TEST(Onnx, RefusesALayerThatTakesTheNameOfTheOutput) {
  NetworkBuilder b({1, 4, 4});
  const NodeId x = b.add({.kind = LayerKind::kFlatten}, {b.input()});
  const NodeId dense = b.add({.kind = LayerKind::kDense, .channels = 2}, {x}, "logits");
  const NodeId act = b.add({.kind = LayerKind::kActivation}, {dense});
  const auto bytes = onnx_bytes(model_of(b.build(act).value()));
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kExport);
  EXPECT_EQ(bytes.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace detol
