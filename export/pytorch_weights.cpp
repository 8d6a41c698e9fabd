// Writes a model's weights as the file that PyTorch's torch.save() makes of a state_dict:
//
//   file                := zip, stored
//   archive/data.pkl    a pickle: OrderedDict of NAME: tensor, whose numbers are the record data/I
//   archive/byteorder   "little"
//   archive/data/I      the numbers of tensor I as 32-bit floats
//   archive/version     "3\n", of PyTorch's format
//
// torch.load(path, weights_only=True) allows all that the pickle names. Torch aligns each record to
// 64 bytes; libarchive cannot, and torch.load() does not ask for it, with mmap=True neither.
// The format: https://github.com/pytorch/pytorch/blob/main/caffe2/serialize/inline_container.h and
// https://docs.python.org/3/library/pickletools.html.

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "core/table.h"
#include "export/formats.h"
#include "export/pytorch_names.h"
#include "export/zip_records.h"

namespace detol::inline exporting {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kVersion = "3\n";
constexpr std::string_view kByteOrder = "little";

// Pickle writes the opcodes of Python's pickle protocol 2.
class Pickle {
 public:
  Pickle& code(std::string_view opcodes) {
    bytes_ += opcodes;
    return *this;
  }
  Pickle& global(std::string_view module, std::string_view name) {
    return code(fmt::format("c{}\n{}\n", module, name));
  }
  Pickle& text(std::string_view text) { return number('X', text.size()).code(text); }
  Pickle& integer(std::int64_t value) { return number('J', static_cast<std::uint64_t>(value)); }
  Pickle& tuple(const std::vector<std::int64_t>& values) {
    code("(");
    for (const std::int64_t value : values) integer(value);
    return code("t");
  }
  Pickle& ordered_dict() { return global("collections", "OrderedDict").code(")R"); }
  const std::string& bytes() const { return bytes_; }

 private:
  // Writes an opcode and a number of four bytes.
  Pickle& number(char opcode, std::uint64_t value) {
    const auto low = static_cast<std::uint32_t>(value);
    bytes_ += opcode;
    return code({reinterpret_cast<const char*>(&low), sizeof low});
  }

  std::string bytes_;
};

// Returns the distances of neighbours along each axis of a row-major tensor.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

std::string pickle_of(const std::vector<TorchTensor>& tensors) {
  Pickle pickle;
  pickle.code("\x80\x02").ordered_dict().code("(");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TorchTensor& tensor = tensors[i];
    pickle.text(tensor.name).global("torch._utils", "_rebuild_tensor_v2").code("((");
    pickle.text("storage").global("torch", "FloatStorage").text(std::to_string(i)).text("cpu");
    pickle.integer(static_cast<std::int64_t>(tensor.data.size())).code("tQ").integer(0);
    pickle.tuple(tensor.shape).tuple(strides_of(tensor.shape)).code("\x89").ordered_dict();
    pickle.code("tR");
  }
  return pickle.code("u.").bytes();
}

std::string_view bytes_of(const TorchTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size_bytes()};
}

std::vector<ZipRecord> records_of(const std::vector<TorchTensor>& tensors,
                                  std::string_view pickle) {
  std::vector<ZipRecord> records{{"archive/data.pkl", pickle}, {"archive/byteorder", kByteOrder}};
  for (std::size_t i = 0; i < tensors.size(); ++i)
    records.push_back({fmt::format("archive/data/{}", i), bytes_of(tensors[i])});
  records.push_back({"archive/version", kVersion});
  return records;
}

// REQUIRES: as many bytes as the tensor has.
Result<void> compare_numbers(std::string_view read, const TorchTensor& tensor) {
  if (read == bytes_of(tensor)) return {};
  std::size_t at = 0;
  while (read.substr(at, sizeof(float)) == bytes_of(tensor).substr(at, sizeof(float)))
    at += sizeof(float);
  float number = 0;
  std::memcpy(&number, read.data() + at, sizeof number);
  const std::size_t element = at / sizeof(float);
  return fail(ErrorCode::kExport,
              fmt::format("tensor {}, element {} is {}, not the model's {}", in_quotes(tensor.name),
                          element, number, tensor.data[element]));
}

}  // namespace

Result<std::string> pytorch_weights(const Model& model) {
  if (!model.shares.empty())
    return fail(ErrorCode::kExport,
                "an ensemble is not written for PyTorch; take --to onnx or safetensors");
  const std::vector<TorchTensor> tensors = state_dict_of(model);
  for (const TorchTensor& tensor : tensors) {
    if (tensor.data.size() > std::numeric_limits<std::int32_t>::max())
      return fail(ErrorCode::kExport,
                  fmt::format("tensor {} has more than 2^31 numbers", in_quotes(tensor.name)));
  }
  const std::string pickle = pickle_of(tensors);
  return zip_file(records_of(tensors, pickle));
}

// Nothing of the file is interpreted: its pickle must be the model's.
Result<void> compare_pytorch_weights(std::string_view bytes, const Model& model) {
  const std::vector<TorchTensor> tensors = state_dict_of(model);
  const std::string pickle = pickle_of(tensors);
  const std::vector<ZipRecord> expected = records_of(tensors, pickle);
  DETOL_ASSIGN(const std::vector<std::string> read, read_zip(bytes, expected));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    DETOL_TRY(compare_numbers(read[i + 2], tensors[i]));
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] != expected[i].bytes)
      return fail(ErrorCode::kExport,
                  fmt::format("its record {} is not the model's", in_quotes(expected[i].name)));
  }
  return {};
}

}  // namespace detol::inline exporting
