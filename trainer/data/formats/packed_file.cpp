#include "trainer/data/formats/packed_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/file.h"
#include "trainer/data/formats/files.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kShortestGzip = 20;             // header, an empty block, trailer
constexpr std::size_t kSlice = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr std::size_t kFirstGuess = std::size_t{1} << 16;
constexpr int kGzipOnly = 15 + 16;  // zlib's window bits: 32 KiB, gzip header

}  // namespace

struct PackedFile::Inflater {
  z_stream stream{};
  std::size_t fed = 0;  // packed bytes handed to zlib
  bool ended = false;   // the checksum at the end was read and matched

  Inflater() {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void feed(std::string& bytes) {
    if (stream.avail_in > 0 || fed == bytes.size()) return;
    const std::size_t more = std::min(kSlice, bytes.size() - fed);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + fed);
    stream.avail_in = static_cast<uInt>(more);
    fed += more;
  }

  std::size_t consumed() const { return fed - stream.avail_in; }
};

PackedFile::PackedFile(PackedFile&&) noexcept = default;
PackedFile& PackedFile::operator=(PackedFile&&) noexcept = default;
PackedFile::~PackedFile() = default;

PackedFile::PackedFile(std::filesystem::path path, std::string bytes)
    : path_(std::move(path)), bytes_(std::move(bytes)) {
  was_packed_ = bytes_.starts_with("\x1f\x8b");
  if (was_packed_) inflater_ = std::make_unique<Inflater>();
}

Result<PackedFile> PackedFile::open(const std::filesystem::path& path) {
  DETOL_ASSIGN(std::string bytes, read_file(path));
  return PackedFile(path, std::move(bytes));
}

Result<PackedFile> PackedFile::open_unpacked(const std::filesystem::path& path) {
  DETOL_ASSIGN(PackedFile file, open(path));
  if (!file.was_packed_) return file;
  DETOL_ASSIGN(std::string bytes, file.read_rest());
  PackedFile unpacked = of_bytes(path, std::move(bytes));
  unpacked.was_packed_ = true;
  return unpacked;
}

PackedFile PackedFile::of_bytes(std::filesystem::path path, std::string bytes) {
  PackedFile file(std::move(path), {});
  file.bytes_ = std::move(bytes);
  return file;
}

std::uint64_t PackedFile::largest_size() const {
  if (!inflater_) return bytes_.size();
  const std::uint64_t reachable = bytes_.size() * kLargestDeflateRatio;
  if (bytes_.size() < kShortestGzip) return reachable;
  std::uint64_t trailer = 0;  // the size modulo 2^32, little-endian
  for (std::size_t i = 1; i <= 4; ++i) {
    trailer = trailer << 8 | static_cast<std::uint8_t>(bytes_[bytes_.size() - i]);
  }
  if (trailer > reachable) return reachable;
  return trailer + ((reachable - trailer) >> 32 << 32);
}

tl::unexpected<Error> PackedFile::error_at(std::uint64_t offset, std::string_view what) const {
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}byte {}: {}; copy or download the file again", path_.string(),
                          was_packed_ ? "unpacked " : "", offset, what));
}

tl::unexpected<Error> PackedFile::damaged() const {
  const bool cut = inflater_->consumed() == bytes_.size();
  return fail(ErrorCode::kInput,
              fmt::format("{}: byte {}: {}; copy or download the file again", path_.string(),
                          inflater_->consumed(),
                          cut ? "the gzip file ends too early" : "the gzip data are damaged"));
}

Result<void> PackedFile::read(std::span<std::uint8_t> out) {
  if (inflater_) return inflate_into(out);
  const std::uint64_t left = bytes_.size() - offset_;
  if (out.size() > left) {
    return error_at(bytes_.size(),
                    fmt::format("the file ends, {} bytes too early", out.size() - left));
  }
  std::memcpy(out.data(), bytes_.data() + offset_, out.size());
  offset_ += out.size();
  return {};
}

Result<void> PackedFile::inflate_into(std::span<std::uint8_t> out) {
  for (std::size_t done = 0; done < out.size();) {
    if (inflater_->ended) {
      return error_at(offset_, fmt::format("the data end, {} bytes too early", out.size() - done));
    }
    DETOL_ASSIGN(const std::size_t more, inflate_some(out.subspan(done)));
    done += more;
  }
  return {};
}

Result<std::size_t> PackedFile::inflate_some(std::span<std::uint8_t> out) {
  z_stream& stream = inflater_->stream;
  inflater_->feed(bytes_);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(std::min(kSlice, out.size()));
  const uInt asked = stream.avail_out;
  const int status = inflate(&stream, Z_NO_FLUSH);
  offset_ += asked - stream.avail_out;
  inflater_->ended = status == Z_STREAM_END;
  if (status != Z_STREAM_END && status != Z_OK) return damaged();
  return asked - stream.avail_out;
}

Result<std::string> PackedFile::read_rest() {
  if (!inflater_) {
    std::string rest = bytes_.substr(offset_);
    offset_ = bytes_.size();
    return rest;
  }
  std::string rest;
  for (std::size_t done = 0; !inflater_->ended;) {
    if (done == rest.size()) rest.resize(std::max(kFirstGuess, 2 * done));
    DETOL_ASSIGN(
        const std::size_t more,
        inflate_some({reinterpret_cast<std::uint8_t*>(rest.data()) + done, rest.size() - done}));
    done += more;
    if (inflater_->ended) rest.resize(done);
  }
  DETOL_TRY(expect_end());
  return rest;
}

Result<void> PackedFile::expect_end() {
  if (!inflater_) {
    const std::uint64_t left = bytes_.size() - offset_;
    if (left == 0) return {};
    return error_at(offset_, fmt::format("{} bytes follow the data", left));
  }
  z_stream& stream = inflater_->stream;
  while (!inflater_->ended) {
    inflater_->feed(bytes_);
    std::uint8_t extra = 0;
    stream.next_out = &extra;
    stream.avail_out = 1;
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (stream.avail_out == 0) return error_at(offset_, "more bytes follow the data");
    if (status != Z_STREAM_END && status != Z_OK) return damaged();
    inflater_->ended = status == Z_STREAM_END;
  }
  if (inflater_->consumed() == bytes_.size()) return {};
  return fail(ErrorCode::kInput,
              fmt::format("{}: byte {}: bytes follow the end of the gzip data; copy or download "
                          "the file again",
                          path_.string(), inflater_->consumed()));
}

}  // namespace detol::inline trainer
