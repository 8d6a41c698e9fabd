#include "knowledge/storage/wal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/descriptor.h"
#include "core/log.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/writer.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const unsigned char>;

constexpr std::size_t kHeaderSize = 32;
constexpr std::size_t kHeaderSummed = 24;  // what the header's checksum covers
constexpr std::size_t kFrameHeaderSize = 24;
constexpr std::size_t kFrameHeaderSummed = 8;

std::uint32_t big_endian(Bytes bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::uint32_t word_at(Bytes bytes, std::size_t at, bool is_big_endian) {
  const std::uint32_t word = big_endian(bytes.subspan(at, 4));
  return is_big_endian ? word : __builtin_bswap32(word);
}

struct Checksum {
  std::uint32_t first = 0, second = 0;
  bool operator==(const Checksum&) const = default;
};

Checksum extend(Checksum sum, Bytes bytes, bool is_big_endian) {
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word_at(bytes, at, is_big_endian) + sum.second;
    sum.second += word_at(bytes, at + 4, is_big_endian) + sum.first;
  }
  return sum;
}

Checksum stored_at(Bytes bytes, std::size_t at) {
  return {big_endian(bytes.subspan(at, 4)), big_endian(bytes.subspan(at + 4, 4))};
}

std::uint64_t salts_at(Bytes bytes, std::size_t at) {
  return std::uint64_t{big_endian(bytes.subspan(at, 4))} << 32 |
         big_endian(bytes.subspan(at + 4, 4));
}

bool is_page_size(std::uint32_t size) {
  return size >= 512 && size <= 65536 && std::has_single_bit(size);
}

// Link: the checksum that a header or frame stores and the one computed from its bytes; one of
// them is right if a single field was damaged.
struct Link {
  Checksum stored, computed;
};

struct Header {
  bool is_sound = false;
  bool is_big_endian = false;  // the words of checksums; other numbers always are
  std::uint32_t page_size = 0;
  std::uint64_t salts = 0;
  Link link;
};

Header header_from(Bytes bytes, bool is_big_endian) {
  Header header;
  header.is_big_endian = is_big_endian;
  header.page_size = big_endian(bytes.subspan(8, 4));
  header.salts = salts_at(bytes, 16);
  header.link = {stored_at(bytes, 24), extend({}, bytes.first(kHeaderSummed), is_big_endian)};
  const std::uint32_t magic = is_big_endian ? 0x377f0683 : 0x377f0682;
  header.is_sound = big_endian(bytes.first(4)) == magic && is_page_size(header.page_size) &&
                    header.link.stored == header.link.computed;
  return header;
}

// Examination reads the frames in order and finds the first that is damaged or torn.
class Examination {
 public:
  explicit Examination(const Header& header) : header_(header), link_(header.link) {
    if (!header.is_sound) first_bad_ = 0;
  }

  void add(Bytes frame);
  WalReport report() const;

 private:
  Checksum checksum_of(Bytes frame, Checksum before) const {
    const Checksum sum = extend(before, frame.first(kFrameHeaderSummed), header_.is_big_endian);
    return extend(sum, frame.subspan(kFrameHeaderSize), header_.is_big_endian);
  }
  bool follows(Bytes frame);

  Header header_;
  Link link_;  // of the header or frame before the next frame
  std::int64_t frames_ = 0;
  std::int64_t sound_frames_ = 0;  // up to the last commit before any damage
  std::optional<std::int64_t> first_bad_;
  bool is_torn_ = false;
  bool is_damaged_ = false;
};

// Returns true if the frame's checksum continues its predecessor's.
bool Examination::follows(Bytes frame) {
  const Checksum stored = stored_at(frame, 16);
  const Checksum computed = checksum_of(frame, link_.stored);
  const bool verifies = stored == computed || (link_.stored != link_.computed &&
                                               stored == checksum_of(frame, link_.computed));
  link_ = {stored, verifies ? stored : computed};
  return verifies && big_endian(frame.first(4)) != 0;
}

void Examination::add(Bytes frame) {
  ++frames_;
  const bool follows_on = follows(frame);
  const bool is_commit = big_endian(frame.subspan(4, 4)) != 0;
  // Without a sound header to compare with, every frame that has a page number counts.
  const bool is_ours =
      header_.is_sound ? salts_at(frame, 8) == header_.salts : big_endian(frame.first(4)) != 0;
  if (!first_bad_ && follows_on && is_ours) {
    if (is_commit) sound_frames_ = frames_;
    return;
  }
  if (!first_bad_) {
    first_bad_ = frames_;
    is_damaged_ = follows_on;  // only its salts are wrong
  } else if (follows_on && is_ours && is_commit) {
    is_damaged_ = true;
  }
  is_torn_ = is_torn_ || is_ours;
}

WalReport Examination::report() const {
  WalReport report;
  const std::int64_t frame_size = kFrameHeaderSize + header_.page_size;
  report.frame = first_bad_.value_or(0);
  report.sound_bytes = header_.is_sound ? kHeaderSize + sound_frames_ * frame_size : 0;
  if (is_damaged_)
    report.state = WalReport::State::kDamaged;
  else if (is_torn_)
    report.state = WalReport::State::kTorn;
  return report;
}

// Fills `bytes`; returns false at the end of the file.
Result<bool> read_at(const Descriptor& file, const fs::path& path, std::span<unsigned char> bytes,
                     std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", path, ErrorCode::kStorage);
    if (got == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return true;
}

// Examines all frames. REQUIRES: the header's page size is valid.
Result<WalReport> examine_frames(const Descriptor& file, const fs::path& path,
                                 const Header& header) {
  std::vector<unsigned char> frame(kFrameHeaderSize + header.page_size);
  Examination examination(header);
  for (std::int64_t offset = kHeaderSize;; offset += static_cast<std::int64_t>(frame.size())) {
    DETOL_ASSIGN(const bool is_whole, read_at(file, path, frame, offset));
    if (!is_whole) return examination.report();
    examination.add(frame);
  }
}

// Returns the page size in the database's header; 0: it is not readable or names none.
std::uint32_t page_size_of(const fs::path& database) {
  const Descriptor file(::open(database.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<unsigned char, 18> header{};
  const auto is_whole = read_at(file, database, header, 0);
  if (!is_whole || !*is_whole) return 0;
  const std::uint32_t size = std::uint32_t{header[16]} << 8 | header[17];
  return size == 1 ? 65536 : is_page_size(size) ? size : 0;
}

// Examines a log with a damaged header: uses the database's page size, and tries both byte orders.
Result<WalReport> examine_without_header(const Descriptor& file, const fs::path& database,
                                         Bytes bytes) {
  WalReport report;
  const std::uint32_t page_size = page_size_of(database);
  if (page_size == 0) return report;  // SQLite refuses such a database
  for (const bool is_big_endian : {false, true}) {
    Header header = header_from(bytes, is_big_endian);
    header.page_size = page_size;
    DETOL_ASSIGN(report, examine_frames(file, wal_of(database), header));
    if (report.state == WalReport::State::kDamaged) break;
  }
  return report;
}

// Stamp changes whenever the log is written.
struct Stamp {
  std::int64_t inode = 0, size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {static_cast<std::int64_t>(info.st_ino), info.st_size, info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec};
}

bool may_be_written(const fs::path& database) {
  const auto writer = current_writer(database);
  return writer && writer->has_value();
}

// Warns once per process: `status --watch` opens the database every second.
void warn_once(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(line).second) log_warning("{}", line);
}

Result<void> judge(const fs::path& database, const WalReport& report) {
  if (report.state == WalReport::State::kSound) return {};
  const std::string problem = problem_of(database, report);
  if (report.state == WalReport::State::kDamaged) return fail(ErrorCode::kStorage, problem);
  warn_once(problem);
  return {};
}

}  // namespace

fs::path wal_of(const fs::path& database) {
  return real_path(database).string() + "-wal";
}

Result<WalReport> examine_wal(const fs::path& database) {
  const fs::path path = wal_of(database);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return WalReport();
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return cannot("read", path, ErrorCode::kStorage);
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::kStorage, fmt::format("{} is not a file; move it away", path.string()));
  }
  std::array<unsigned char, kHeaderSize> bytes{};
  DETOL_ASSIGN(const bool is_whole, read_at(file, path, bytes, 0));
  if (!is_whole) return WalReport();
  for (const bool is_big_endian : {false, true}) {
    const Header header = header_from(bytes, is_big_endian);
    if (header.is_sound) return examine_frames(file, path, header);
  }
  return examine_without_header(file, database, bytes);
}

std::string problem_of(const fs::path& database, const WalReport& report) {
  const std::string what =
      report.frame == 0 ? "its header" : fmt::format("its frame {}", report.frame);
  if (report.state == WalReport::State::kDamaged) {
    return fmt::format(
        "{}: {} is damaged and hides acknowledged transactions; `detol db restore` goes back to "
        "the last backup, `detol db recover` keeps what precedes the damage",
        wal_of(database).string(), what);
  }
  return fmt::format(
      "{}: {} does not verify: it was being written when its process was killed, or it is "
      "damaged; its transaction is dropped, and the next command that writes replaces it",
      wal_of(database).string(), what);
}

Result<void> check_wal(const fs::path& database) {
  DETOL_ASSIGN(const WalReport report, examine_wal(database));
  return judge(database, report);
}

// A writer may start and end while the log is read, so a report counts only if the log did not
// change meanwhile.
Result<WalReport> examine_idle_wal(const fs::path& database) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (may_be_written(database)) break;
    const Stamp before = stamp_of(wal_of(database));
    DETOL_ASSIGN(const WalReport report, examine_wal(database));
    if (report.state == WalReport::State::kSound) return report;
    if (!may_be_written(database) && stamp_of(wal_of(database)) == before) return report;
  }
  return WalReport();
}

Result<void> check_idle_wal(const fs::path& database) {
  DETOL_ASSIGN(const WalReport report, examine_idle_wal(database));
  return judge(database, report);
}

}  // namespace detol::inline knowledge
