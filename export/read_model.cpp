#include "export/read_model.h"

#include <fmt/format.h>

#include "core/file.h"

namespace detol::inline exporting {
namespace {

// Returns whether bytes are a safetensors file: its header, a JSON object, follows eight bytes of
// length. An ONNX file starts with the field of its IR version and never has a brace there.
bool is_safetensors(std::string_view bytes) {
  constexpr std::size_t kHeaderStart = 8;
  return bytes.size() > kHeaderStart && bytes[kHeaderStart] == '{' && bytes[kHeaderStart - 1] == 0;
}

}  // namespace

Result<Model> read_model(const std::filesystem::path& path) {
  DETOL_ASSIGN(const std::string bytes, read_file(path));
  auto model = is_safetensors(bytes) ? read_safetensors(bytes) : read_onnx(bytes);
  return std::move(model).map_error([&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", path.string(), error.message)};
  });
}

}  // namespace detol::inline exporting
