// Reads the parts of an ONNX file around its graph: versions and metadata.

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "export/formats.h"
#include "export/metadata.h"
#include "export/onnx_constants.h"
#include "export/onnx_reader.h"
#include "export/read_model.h"
#include "export/refuse.h"

namespace detol::inline exporting {
namespace {

Result<void> check_header(const onnx::ModelProto& proto) {
  const bool one_set = proto.opset_import_size() == 1 && proto.opset_import(0).domain().empty();
  const auto version = one_set ? proto.opset_import(0).version() : 0;
  if (version != kOnnxOpset && version != kOnnxNormOpset) {
    return refuse(fmt::format("it is not written for ONNX's operator set {} or {}", kOnnxOpset,
                              kOnnxNormOpset));
  }
  if (proto.functions_size() != 0 || proto.graph().sparse_initializer_size() != 0)
    return refuse("it has functions or sparse tensors, which detol does not write");
  return {};
}

}  // namespace

Result<Model> read_onnx(std::string_view bytes) {
  onnx::ModelProto proto;
  if (bytes.size() > std::numeric_limits<std::int32_t>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_graph()) {
    return refuse("it is not an ONNX file, or a damaged one");
  }
  DETOL_TRY(check_header(proto));
  Metadata metadata;
  for (const auto& entry : proto.metadata_props()) metadata[entry.key()] = entry.value();
  Model model, from_metadata;
  DETOL_TRY(read_metadata(metadata, from_metadata));
  DETOL_TRY(read_onnx_graph(proto.graph(), model));
  if (from_metadata.mean != model.mean || from_metadata.deviation != model.deviation)
    return refuse("its metadata and its graph normalise differently");
  from_metadata.network = std::move(model.network);
  from_metadata.weights = std::move(model.weights);
  DETOL_TRY(check_model(from_metadata));
  return from_metadata;
}

}  // namespace detol::inline exporting
