// The part of a graph that prepares pictures: its form, and that a reader accepts no other.
// onnx_runtime_test.cpp holds what it computes to the loader.

#include "export/onnx_picture.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <gtest/gtest.h>

#include "export/onnx_interface.h"
#include "tests/export/picture_model.h"

namespace detol {
namespace {

using testing::picture_model_of;

const Shape kSquare{3, 32, 32};

Result<void> read_picture(const onnx::GraphProto& graph, const PictureInput& picture) {
  onnx::GraphProto expected;
  declare_picture_input(expected, "picture", picture);
  add_picture_input(expected, "picture", picture);
  return begins_with(graph, expected);
}

std::vector<PictureInput> all_inputs() {
  std::vector<PictureInput> inputs;
  for (const int channels : {1, 3}) {
    const Shape shape{channels, 32, 32};
    for (const PictureFitRow& row : picture_fits())
      inputs.push_back({{.size = 32, .fit = row.fit, .channels = channels}, shape});
    inputs.push_back({{.channels = channels}, shape});
    inputs.push_back({{.channels = channels}, shape, false});
  }
  return inputs;
}

TEST(OnnxPicture, PassesTheFullCheckWithTheShapeOfTheNetwork) {
  for (const PictureInput& picture : all_inputs()) {
    const onnx::ModelProto model = picture_model_of(picture);
    EXPECT_NO_THROW(onnx::checker::check_model(model));
    onnx::ModelProto inferred = model;
    inferred.mutable_graph()
        ->mutable_output(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->clear_shape();
    const onnx::ShapeInferenceOptions strict(true, 1, true);
    EXPECT_NO_THROW(
        onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), strict));
    const auto& shape = inferred.graph().output(0).type().tensor_type().shape();
    ASSERT_EQ(shape.dim_size(), 4);
    EXPECT_EQ(shape.dim(1).dim_value(), picture.shape.channels);
    EXPECT_EQ(shape.dim(2).dim_value(), 32);
    EXPECT_EQ(shape.dim(3).dim_value(), 32);
  }
}

TEST(OnnxPicture, TakesBytesOfAnySizeOnlyWhereItResizes) {
  const auto dimension = [](const PictureInput& picture, int i) {
    return picture_model_of(picture)
        .graph()
        .input(0)
        .type()
        .tensor_type()
        .shape()
        .dim(i)
        .dim_value();
  };
  const PictureInput resized{{.size = 32}, kSquare}, as_is{{}, kSquare}, array{{}, kSquare, false};
  EXPECT_EQ(picture_model_of(resized).graph().input(0).type().tensor_type().elem_type(),
            onnx::TensorProto::UINT8);
  EXPECT_EQ(dimension(resized, 1), 0);
  EXPECT_EQ(dimension(as_is, 1), 32);
  EXPECT_EQ(dimension(as_is, 3), 0);
  EXPECT_EQ(dimension(array, 3), 3);
}

TEST(OnnxPicture, IsReadBack) {
  for (const PictureInput& picture : all_inputs()) {
    const onnx::ModelProto model = picture_model_of(picture);
    const auto read = read_picture(model.graph(), picture);
    ASSERT_TRUE(read) << read.error().message;
  }
}

TEST(OnnxPicture, OfAnotherFormIsRefused) {
  const auto inputs = all_inputs();
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    for (std::size_t b = 0; b < inputs.size(); ++b) {
      const auto read = read_picture(picture_model_of(inputs[a]).graph(), inputs[b]);
      EXPECT_EQ(read.has_value(), a == b) << a << " read as " << b;
    }
  }
}

TEST(OnnxPicture, WithOneDamagedNodeOrConstantIsRefused) {
  const PictureInput picture{{.size = 32, .fit = PictureFit::kPad, .channels = 1}, {1, 32, 32}};
  const onnx::ModelProto good = picture_model_of(picture);
  for (int i = 0; i < good.graph().node_size(); ++i) {
    onnx::GraphProto graph = good.graph();
    graph.mutable_node(i)->set_op_type("Relu");
    EXPECT_FALSE(read_picture(graph, picture)) << i;
  }
  for (int i = 0; i < good.graph().initializer_size(); ++i) {
    onnx::GraphProto graph = good.graph();
    graph.mutable_initializer(i)->mutable_raw_data()->back() ^= 1;
    EXPECT_FALSE(read_picture(graph, picture)) << i;
    graph.mutable_initializer(i)->set_name("gone");
    EXPECT_FALSE(read_picture(graph, picture)) << i;
  }
  onnx::GraphProto cut = good.graph();
  cut.mutable_node()->RemoveLast();
  EXPECT_FALSE(read_picture(cut, picture));
}

}  // namespace
}  // namespace detol
