// Reads the parts of an ONNX file around its graph: versions and metadata.

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "export/formats.h"
#include "export/metadata.h"
#include "export/onnx_constants.h"
#include "export/onnx_reader.h"
#include "export/onnx_table.h"
#include "export/read_model.h"
#include "export/refuse.h"

namespace detol::inline exporting {
namespace {

Result<void> check_header(const onnx::ModelProto& proto, const Model& model) {
  const bool translates = model.table && !model.is_raw && has_categories(*model.table);
  const auto& sets = proto.opset_import();
  const bool is_known = sets.size() == (translates ? 2 : 1) && sets[0].domain().empty() &&
                        (!translates || sets[1].domain() == kOnnxMlDomain);
  const auto version = is_known ? sets[0].version() : 0;
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
  Metadata metadata;
  for (const auto& entry : proto.metadata_props()) metadata[entry.key()] = entry.value();
  Model model;
  DETOL_TRY(read_metadata(metadata, model));
  DETOL_TRY(check_header(proto, model));
  DETOL_ASSIGN(const Shape shape, input_shape_from(metadata));
  DETOL_TRY(read_onnx_graph(proto.graph(), shape, model));
  DETOL_TRY(check_model(model));
  return model;
}

}  // namespace detol::inline exporting
