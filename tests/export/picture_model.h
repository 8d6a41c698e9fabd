#pragma once

// A graph that only prepares pictures, for the tests of this folder.

#include "export/onnx_picture.h"

namespace detol::testing {

inline onnx::ModelProto picture_model_of(const PictureInput& picture) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  auto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("pictures");
  declare_picture_input(graph, "picture", picture);
  onnx::ValueInfoProto& output = *graph.add_output();
  output.set_name(add_picture_input(graph, "picture", picture));
  auto& tensor = *output.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  for (const auto extent : {picture.shape.channels, picture.shape.height, picture.shape.width})
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  return model;
}

}  // namespace detol::testing
