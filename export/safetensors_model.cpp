// Writes and reads a model as a safetensors file: the network's tensors by name, and everything
// else as metadata, the architecture, too, so that the file alone is enough to rebuild the network.

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "core/table.h"
#include "export/architecture.h"
#include "export/formats.h"
#include "export/json_text.h"
#include "export/metadata.h"
#include "export/read_model.h"
#include "export/safetensors.h"

namespace detol::inline exporting {
namespace {

constexpr const char* kArchitecture = "detol.architecture";

Result<Tensor> tensor_from(const SafeTensor& found, const NetworkParameter& parameter) {
  if (found.dtype != "F32") {
    return fail(ErrorCode::kInput, fmt::format("tensor {} is {}; detol writes F32",
                                               in_quotes(found.name), found.dtype));
  }
  if (found.shape != parameter.spec.shape) {
    return fail(ErrorCode::kInput,
                fmt::format("tensor {} has not the shape of its layer", in_quotes(found.name)));
  }
  Tensor tensor{found.name, found.shape, std::vector<float>(found.bytes.size() / sizeof(float))};
  std::memcpy(tensor.data.data(), found.bytes.data(), found.bytes.size());
  return tensor;
}

Result<Weights> weights_from(const SafeTensors& contents, const Network& network) {
  std::map<std::string_view, const SafeTensor*> by_name;
  for (const SafeTensor& tensor : contents.tensors) by_name[tensor.name] = &tensor;
  Weights weights;
  for (const NetworkParameter& parameter : network.parameters()) {
    const auto found = by_name.find(parameter.name);
    if (found == by_name.end()) {
      return fail(ErrorCode::kInput,
                  fmt::format("the tensor {} is missing", in_quotes(parameter.name)));
    }
    DETOL_ASSIGN(Tensor tensor, tensor_from(*found->second, parameter));
    weights.push_back(std::move(tensor));
    by_name.erase(found);
  }
  if (by_name.empty()) return weights;
  return fail(ErrorCode::kInput,
              fmt::format("tensor {} belongs to no layer", in_quotes(by_name.begin()->first)));
}

}  // namespace

Result<std::string> safetensors_bytes(const Model& model) {
  SafeTensors contents{metadata_of(model, /*is_raw=*/true), {}};
  contents.metadata[kArchitecture] = compact(architecture_json(model.network));
  for (const Tensor& tensor : model.weights) {
    const auto* bytes = reinterpret_cast<const char*>(tensor.data.data());
    contents.tensors.push_back(
        {tensor.name, "F32", tensor.shape, {bytes, tensor.data.size() * sizeof(float)}});
  }
  return safetensors_file(contents);
}

Result<Model> read_safetensors(std::string_view bytes) {
  DETOL_ASSIGN(const SafeTensors contents, parse_safetensors(bytes));
  Model model;
  DETOL_TRY(read_metadata(contents.metadata, model));
  const auto architecture = contents.metadata.find(kArchitecture);
  if (architecture == contents.metadata.end()) {
    return fail(ErrorCode::kInput,
                fmt::format("its metadata have no {}; detol reads the models that detol wrote",
                            kArchitecture));
  }
  DETOL_ASSIGN(const nlohmann::json layers,
               parse_json(architecture->second, kArchitecture, kModelJson));
  DETOL_ASSIGN(model.network, network_from(layers));
  DETOL_ASSIGN(model.weights, weights_from(contents, model.network));
  DETOL_TRY(check_model(model));
  return model;
}

Result<void> compare_safetensors(std::string_view bytes, const Model& model) {
  DETOL_ASSIGN(const Model read, read_safetensors(bytes));
  return compare_models(model, read);
}

}  // namespace detol::inline exporting
