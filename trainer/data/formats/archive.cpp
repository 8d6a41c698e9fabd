#include "trainer/data/formats/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/files.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kTarBlock = 512;
constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr std::size_t kPackedBlock = std::size_t{1} << 14;  // becomes 16 MB at most
constexpr int kMostUnpacked = 100;                          // times the bytes that were read
constexpr std::int64_t kUnpackedAnyway = std::int64_t{64} << 20;

// Returns whether a name leads out of the archive's folder; true also for harmless names such as
// "a/../b", which are rare.
bool climbs_out(const std::filesystem::path& name) {
  return name.is_absolute() || std::ranges::find(name, "..") != name.end();
}

}  // namespace

// Packed: the bytes of a file, as libarchive asks for them.
struct ArchiveReader::Packed {
  Descriptor file;
  std::array<char, kPackedBlock> block = {};
  bool unpacks_too_much = false;

  // Called for the next bytes: looks at what those before have become.
  static la_ssize_t read(archive* reader, void* packed, const void** bytes) {
    auto& from = *static_cast<Packed*>(packed);
    const std::int64_t unpacked = archive_filter_bytes(reader, 0);
    if (unpacked > kUnpackedAnyway + kMostUnpacked * archive_filter_bytes(reader, -1)) {
      from.unpacks_too_much = true;  // libarchive has a message of its own where it skips
      return ARCHIVE_FATAL;
    }
    ssize_t count = 0;
    do count = ::read(from.file.get(), from.block.data(), from.block.size());
    while (count < 0 && errno == EINTR);
    if (count < 0) archive_set_error(reader, errno, "it cannot be read");
    *bytes = from.block.data();
    return count < 0 ? la_ssize_t{ARCHIVE_FATAL} : count;
  }
};

ArchiveReader::ArchiveReader(std::filesystem::path path, ArchiveKind kind,
                             std::unique_ptr<Packed> packed,
                             std::unique_ptr<archive, Closer> reader)
    : path_(std::move(path)), kind_(kind), packed_(std::move(packed)), reader_(std::move(reader)) {}
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;
ArchiveReader& ArchiveReader::operator=(ArchiveReader&&) noexcept = default;
ArchiveReader::~ArchiveReader() = default;

void ArchiveReader::Closer::operator()(archive* reader) const {
  archive_read_free(reader);
}

Result<ArchiveReader> ArchiveReader::open(const std::filesystem::path& path, ArchiveKind kind) {
  DETOL_ASSIGN(Descriptor file, open_regular_file(path));
  std::unique_ptr<archive, Closer> reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  if (kind == ArchiveKind::kTar) {
    archive_read_support_format_tar(reader.get());
    archive_read_support_filter_gzip(reader.get());
  } else {
    archive_read_support_format_zip_seekable(reader.get());
  }
  auto packed = std::unique_ptr<Packed>(new Packed{.file = std::move(file)});
  ArchiveReader made(path, kind, std::move(packed), std::move(reader));
  archive* const raw = made.reader_.get();
  const int opened =
      kind == ArchiveKind::kTar
          ? archive_read_open(raw, made.packed_.get(), nullptr, Packed::read, nullptr)
          : archive_read_open_fd(raw, made.packed_->file.get(), kBlock);
  if (opened != ARCHIVE_OK) return made.damaged();
  return made;
}

Result<std::optional<std::string>> ArchiveReader::next() {
  for (;;) {
    archive_entry* entry = nullptr;
    name_.clear();
    const int status = archive_read_next_header(reader_.get(), &entry);
    offset_ = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, archive_read_header_position(reader_.get())));
    if (status == ARCHIVE_EOF) {
      DETOL_TRY(expect_end_mark());
      return std::nullopt;
    }
    if (status != ARCHIVE_OK) return damaged();
    const char* name = archive_entry_pathname(entry);
    name_ = name == nullptr ? "" : name;
    if (climbs_out(name_))
      return error("its name leads out of the archive", "pack the files under relative names");
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
      return error("a link", "pack the files themselves");
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    if (archive_entry_filetype(entry) == AE_IFREG) return name_;
    return error("neither a file nor a folder", "pack files alone");
  }
}

Result<std::string> ArchiveReader::read(std::size_t limit_bytes) {
  std::string bytes;
  for (std::size_t done = 0;;) {
    if (done == bytes.size()) bytes.resize(std::min(limit_bytes + 1, std::max(kBlock, 2 * done)));
    const la_ssize_t more =
        archive_read_data(reader_.get(), bytes.data() + done, bytes.size() - done);
    if (more < 0) return damaged();
    done += static_cast<std::size_t>(more);
    if (done > limit_bytes)
      return error(fmt::format("more than {} bytes", limit_bytes), "leave it out");
    if (more > 0) continue;
    bytes.resize(done);
    return bytes;
  }
}

// A tar ends with blocks of zeros. libarchive accepts a file without them, but it may be truncated.
Result<void> ArchiveReader::expect_end_mark() const {
  if (kind_ == ArchiveKind::kZip) return {};
  const std::int64_t consumed = archive_filter_bytes(reader_.get(), 0);
  if (consumed >= static_cast<std::int64_t>(offset_) + kTarBlock) return {};
  return error("the archive ends without its end mark: it is cut", kGetAgain);
}

tl::unexpected<Error> ArchiveReader::error(std::string_view what, std::string_view remedy) const {
  const std::string member = name_.empty() ? "" : in_quotes(name_) + ": ";
  return byte_error(path_, offset_, member + std::string(what), remedy);
}

tl::unexpected<Error> ArchiveReader::damaged() const {
  if (packed_->unpacks_too_much)
    return error(fmt::format("it unpacks to more than {} times its bytes", kMostUnpacked),
                 "pack it again without what fills it");
  const char* why = archive_error_string(reader_.get());
  return error(why == nullptr ? "the archive is damaged" : printable_excerpt(why), kGetAgain);
}

}  // namespace detol::inline trainer
