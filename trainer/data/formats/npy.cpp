#include "trainer/data/formats/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 65536;  // version 1's limit, which only named fields exceed
constexpr std::size_t kMostSizes = 32;

constexpr std::string_view kSaveAgain =
    "save it again with numpy.save(file, numpy.ascontiguousarray(array))";

// HeaderReader parses the header's dictionary strictly: three keys, each exactly once.
class HeaderReader {
 public:
  HeaderReader(const PackedFile& file, std::string_view text, std::uint64_t start)
      : file_(file), text_(text), start_(start) {}

  Result<NpyArray> read() {
    DETOL_TRY(expect('{'));
    while (!is_next('}')) {
      DETOL_ASSIGN(const std::string_view key, quoted());
      DETOL_TRY(expect(':'));
      DETOL_TRY(read_value(key));
      if (!is_next(',')) break;
      ++at_;
    }
    DETOL_TRY(expect('}'));
    if (text_.find_first_not_of(" \n", at_) != std::string_view::npos)
      return error("something follows the dictionary");
    if (has_type_ && has_order_ && has_sizes_) return array_;
    return error("one of descr, fortran_order and shape is missing");
  }

 private:
  tl::unexpected<Error> error(std::string_view what) const {
    return file_.error_at(start_ + at_, fmt::format("NPY header: {}", what));
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool is_next(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }

  Result<void> expect(char c) {
    if (!is_next(c)) return error(fmt::format("'{}' is missing", c));
    ++at_;
    return {};
  }

  Result<std::string_view> quoted() {
    const char quote = is_next('"') ? '"' : '\'';
    DETOL_TRY(expect(quote));
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return error("a quote that nothing closes");
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }

  Result<void> read_value(std::string_view key) {
    bool* has = key == "descr"           ? &has_type_
                : key == "fortran_order" ? &has_order_
                : key == "shape"         ? &has_sizes_
                                         : nullptr;
    if (has == nullptr || *has) return error(fmt::format("an unexpected key {}", in_quotes(key)));
    *has = true;
    if (has == &has_type_) return read_type();
    return has == &has_order_ ? read_order() : read_sizes();
  }

  Result<void> read_type() {
    if (is_next('[')) return error("records with named fields; save one plain array");
    DETOL_ASSIGN(const std::string_view type, quoted());
    constexpr std::array<std::string_view, 11> kKnown = {"u1", "u2", "u4", "u8", "i1", "i2",
                                                         "i4", "i8", "b1", "f4", "f8"};
    const bool has_order =
        !type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos;
    if (!has_order || std::ranges::find(kKnown, type.substr(1)) == kKnown.end()) {
      return error(
          fmt::format("elements of type {}; they must be whole numbers or floats of 4 or "
                      "8 bytes",
                      in_quotes(type)));
    }
    array_.kind = type[1];
    array_.bytes = static_cast<std::size_t>(type[2] - '0');
    constexpr bool kIsLittle = std::endian::native == std::endian::little;
    array_.is_swapped = array_.bytes > 1 && type[0] == (kIsLittle ? '>' : '<');
    return {};
  }

  Result<void> read_order() {
    skip_blanks();
    if (text_.substr(at_).starts_with("False")) {
      at_ += 5;
      return {};
    }
    return error(
        fmt::format("the array is in Fortran's order, or says nothing of it; {}", kSaveAgain));
  }

  Result<void> read_sizes() {
    DETOL_TRY(expect('('));
    while (!is_next(')')) {
      std::int64_t size = 0;
      const auto [end, wrong] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (wrong != std::errc()) return error("a size is no whole number");
      if (size < 1) return error(fmt::format("a size is {}", size));
      if (array_.sizes.size() == kMostSizes) return error("too many sizes");
      array_.sizes.push_back(size);
      at_ = static_cast<std::size_t>(end - text_.data());
      if (!is_next(',')) break;
      ++at_;
    }
    return expect(')');
  }

  const PackedFile& file_;
  std::string_view text_;
  std::uint64_t start_;
  std::size_t at_ = 0;
  bool has_type_ = false, has_order_ = false, has_sizes_ = false;
  NpyArray array_;
};

Result<void> check_magic(PackedFile& file, int& version) {
  std::array<std::uint8_t, 8> begin{};
  DETOL_TRY(file.read(begin));
  const std::string_view magic(reinterpret_cast<const char*>(begin.data()), kMagic.size());
  if (magic != kMagic) return file.error_at(0, "no NPY file: it must begin with 0x93 NUMPY");
  version = begin[6];
  if (version >= 1 && version <= 3 && begin[7] == 0) return {};
  return file.error_at(
      6, fmt::format("NPY version {}.{}; known are 1.0, 2.0 and 3.0", begin[6], begin[7]));
}

Result<std::size_t> header_size(PackedFile& file, int version) {
  std::array<std::uint8_t, 4> bytes{};
  DETOL_TRY(file.read(std::span(bytes).first(version == 1 ? 2 : 4)));
  std::size_t size = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) size = size << 8 | bytes[i];
  const std::uint64_t left = file.largest_size() - std::min(file.largest_size(), file.offset());
  if (size <= kLongestHeader && size <= left) return size;
  return file.error_at(8, fmt::format("a header of {} bytes; at most {} are allowed, and {} follow",
                                      size, kLongestHeader, left));
}

template <typename Element, typename Out>
void convert(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<Out> out) {
  std::array<std::uint8_t, sizeof(Element)> bytes;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::memcpy(bytes.data(), &raw[i * sizeof(Element)], sizeof(Element));
    if (array.is_swapped) std::ranges::reverse(bytes);
    const auto element = std::bit_cast<Element>(bytes);
    if constexpr (std::is_same_v<Element, std::uint64_t> && std::is_same_v<Out, std::int64_t>) {
      const bool fits = element <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      out[i] = fits ? static_cast<std::int64_t>(element) : -1;
    } else {
      out[i] = static_cast<Out>(element);  // NOLINT(bugprone-signed-char-misuse): it is a number
    }
  }
}

template <typename Out>
void convert_whole(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<Out> out) {
  const bool is_signed = array.kind == 'i';
  switch (array.bytes) {
    case 1:
      return is_signed ? convert<std::int8_t>(array, raw, out)
                       : convert<std::uint8_t>(array, raw, out);
    case 2:
      return is_signed ? convert<std::int16_t>(array, raw, out)
                       : convert<std::uint16_t>(array, raw, out);
    case 4:
      return is_signed ? convert<std::int32_t>(array, raw, out)
                       : convert<std::uint32_t>(array, raw, out);
    default:
      return is_signed ? convert<std::int64_t>(array, raw, out)
                       : convert<std::uint64_t>(array, raw, out);
  }
}

template <typename Out>
void convert_real(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<Out> out) {
  if (array.is_whole()) return convert_whole(array, raw, out);
  return array.bytes == 4 ? convert<float>(array, raw, out) : convert<double>(array, raw, out);
}

}  // namespace

std::uint64_t NpyArray::elements() const {
  std::uint64_t product = 1;
  for (const std::int64_t size : sizes) product *= static_cast<std::uint64_t>(size);
  return product;
}

Result<NpyArray> read_npy_header(PackedFile& file) {
  int version = 0;
  DETOL_TRY(check_magic(file, version));
  DETOL_ASSIGN(const std::size_t size, header_size(file, version));
  const std::uint64_t start = file.offset();
  std::string text(size, '\0');
  DETOL_TRY(file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  DETOL_ASSIGN(NpyArray array, HeaderReader(file, text, start).read());
  array.start = file.offset();
  double claimed = static_cast<double>(array.bytes);
  for (const std::int64_t one : array.sizes) claimed *= static_cast<double>(one);
  const double left = static_cast<double>(file.largest_size()) - static_cast<double>(file.offset());
  if (claimed <= left) return array;
  return file.error_at(start,
                       fmt::format("sizes {} need {:.0f} bytes, but at most {:.0f} follow: "
                                   "the file is cut or damaged",
                                   fmt::join(array.sizes, " x "), claimed, std::max(0.0, left)));
}

void to_floats(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<float> out) {
  convert_real(array, raw, out);
}

void to_doubles(const NpyArray& array, std::span<const std::uint8_t> raw, std::span<double> out) {
  convert_real(array, raw, out);
}

void to_whole_numbers(const NpyArray& array, std::span<const std::uint8_t> raw,
                      std::span<std::int64_t> out) {
  convert_whole(array, raw, out);
}

}  // namespace detol::inline trainer
