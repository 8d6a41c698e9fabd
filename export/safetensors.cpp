#include "export/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

#include "core/table.h"
#include "export/json_text.h"
#include "export/refuse.h"
#include "export/safetensors_header.h"

namespace detol::inline exporting {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kLongestHeader = std::size_t{8} << 20;
constexpr std::size_t kAlignment = 8;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

struct DtypeRow {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kDtypes = {DtypeRow{"BOOL", 1},    DtypeRow{"U8", 1},  DtypeRow{"I8", 1},
                                DtypeRow{"F8_E5M2", 1}, DtypeRow{"I16", 2}, DtypeRow{"F8_E4M3", 1},
                                DtypeRow{"U16", 2},     DtypeRow{"F16", 2}, DtypeRow{"BF16", 2},
                                DtypeRow{"I32", 4},     DtypeRow{"U32", 4}, DtypeRow{"F32", 4},
                                DtypeRow{"F64", 8},     DtypeRow{"I64", 8}, DtypeRow{"U64", 8}};

// Returns the number of bytes that dtype and shape need.
Result<std::uint64_t> expected_bytes(const TensorEntry& entry) {
  const DtypeRow* dtype = find_row(std::span<const DtypeRow>(kDtypes), entry.dtype);
  if (dtype == nullptr) {
    return refuse(fmt::format("tensor {} has the unknown dtype {}", in_quotes(entry.name),
                              in_quotes(entry.dtype)));
  }
  std::uint64_t bytes = dtype->bytes;
  for (const std::uint64_t extent : entry.shape) {
    if (extent <= kMostElements && !__builtin_mul_overflow(bytes, extent, &bytes)) continue;
    return refuse(fmt::format("tensor {} has an impossible shape", in_quotes(entry.name)));
  }
  return bytes;
}

// Returns the tensors, after checking that they cover `data` without holes or overlap. REQUIRES:
// `entries` are in the order of their offsets.
Result<std::vector<SafeTensor>> tensors_of(const std::vector<TensorEntry>& entries,
                                           std::string_view data) {
  std::vector<SafeTensor> tensors;
  std::uint64_t at = 0;
  for (const TensorEntry& entry : entries) {
    DETOL_ASSIGN(const std::uint64_t bytes, expected_bytes(entry));
    if (entry.begin != at) {
      return refuse(
          fmt::format("tensor {} starts at byte {} of the data, the one before it ends "
                      "at {}",
                      in_quotes(entry.name), entry.begin, at));
    }
    if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
      return refuse(fmt::format("tensor {} has the offsets {} and {}, its shape asks for {} bytes",
                                in_quotes(entry.name), entry.begin, entry.end, bytes));
    }
    if (entry.end > data.size()) {
      return refuse(fmt::format("tensor {} ends at byte {} of the data, the file at {}: it was cut",
                                in_quotes(entry.name), entry.end, data.size()));
    }
    tensors.push_back({entry.name,
                       entry.dtype,
                       {entry.shape.begin(), entry.shape.end()},
                       data.substr(entry.begin, bytes)});
    at = entry.end;
  }
  if (at == data.size()) return tensors;
  return refuse(fmt::format("{} bytes follow the last tensor", data.size() - at));
}

}  // namespace

Result<SafeTensors> parse_safetensors(std::string_view file) {
  if (file.size() < kLengthBytes) return refuse("it is too short for a safetensors file");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kLongestHeader || length > file.size() - kLengthBytes) {
    return refuse(
        fmt::format("its header's length is {}; it may be at most 8 MB and the rest of "
                    "the file, {} bytes",
                    length, file.size() - kLengthBytes));
  }
  DETOL_ASSIGN(SafetensorsHeader header,
               parse_safetensors_header(file.substr(kLengthBytes, length)));
  std::ranges::sort(header.tensors, [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  SafeTensors contents{std::move(header.metadata), {}};
  DETOL_ASSIGN(contents.tensors, tensors_of(header.tensors, file.substr(kLengthBytes + length)));
  return contents;
}

Result<std::string> safetensors_file(const SafeTensors& contents) {
  nlohmann::ordered_json header = {{"__metadata__", contents.metadata}};
  std::uint64_t at = 0;
  for (const SafeTensor& tensor : contents.tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text = compact(header);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  if (text.size() > kLongestHeader) {
    return fail(ErrorCode::kExport, fmt::format("a header of {} bytes; a safetensors file of detol "
                                                "has at most 8 MB",
                                                text.size()));
  }
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file.reserve(file.size() + text.size() + at);
  file += text;
  for (const SafeTensor& tensor : contents.tensors) file += tensor.bytes;
  return file;
}

}  // namespace detol::inline exporting
