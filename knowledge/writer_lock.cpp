#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <system_error>

#include "core/descriptor.h"
#include "core/hash.h"
#include "knowledge/file_system_impl.h"
#include "knowledge/writer.h"
#include "knowledge/writer_lock_impl.h"

namespace detol::inline knowledge {
namespace {

using nlohmann::json;

// The size of the lock's file. The text is padded to it, so that one write replaces all of it,
// even on a full disk.
constexpr std::size_t kSize = 1024;

std::string last_error() {
  return std::generic_category().message(errno);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string fresh_token() {
  std::random_device device;
  return to_hex(std::uint64_t{device()} << 32 | device());
}

// Reads the holder from the lock's file; returns an empty object if none is written yet.
json text_of(int file) {
  std::array<char, kSize> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  json holder = json::parse(text.data(), text.data() + (size > 0 ? size : 0), nullptr,
                            /*allow_exceptions=*/false);
  return holder.is_object() ? holder : json::object();
}

std::string field(const json& holder, const char* key, const std::string& otherwise) {
  const auto found = holder.find(key);
  return found != holder.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

Writer writer_from(const json& holder) {
  Writer writer;
  writer.host = field(holder, "host", writer.host);
  if (const auto pid = holder.find("pid"); pid != holder.end() && pid->is_number_integer())
    writer.pid = pid->get<int>();
  writer.since = field(holder, "since", writer.since);
  writer.study = field(holder, "study", "");
  return writer;
}

// The locked byte is beyond every byte that a database can have (2^48), so that SQLite never locks
// it. A lock per study would take the byte at this plus the study's number.
constexpr off_t kWriterByte = off_t{1} << 60;

struct flock writer_byte() {
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = kWriterByte;
  byte.l_len = 1;
  return byte;
}

struct flock whole_file(short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return whole;
}

bool are_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tl::unexpected<Error> not_locked(const std::string& path) {
  return fail(ErrorCode::kStorage,
              fmt::format("{}: cannot be locked: {}; pass a --storage that you may write", path,
                          last_error()));
}

tl::unexpected<Error> is_written(const std::string& database, const std::string& writer) {
  return fail(ErrorCode::kStorage,
              fmt::format("{} is being written by {}; stop that search first, or pass another "
                          "--storage",
                          database, writer));
}

}  // namespace

std::string to_text(const Writer& writer) {
  return fmt::format("process {} on host {} since {}", writer.pid, writer.host, writer.since);
}

Result<std::optional<Writer>> current_writer(const std::filesystem::path& database) {
  const std::string path = real_path(database).string() + ".lock";
  DETOL_TRY(check_regular_file(path, ErrorCode::kStorage));
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::optional<Writer>();
  if (file < 0) {
    return fail(ErrorCode::kStorage, fmt::format("{}: cannot be read: {}", path, last_error()));
  }
  struct flock whole = whole_file(F_WRLCK);
  const int asked = ::fcntl(file, F_OFD_GETLK, &whole);
  const Writer writer = writer_from(text_of(file));
  ::close(file);
  if (asked != 0) return not_locked(path);
  return whole.l_type == F_UNLCK ? std::optional<Writer>() : writer;
}

WriterLock::WriterLock(std::string path)
    : path_(std::move(path)),
      token_(fresh_token()),
      since_(fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))) {}

// Locks the database first: a process that fails to has not changed the file that names the holder.
Result<WriterLock> WriterLock::acquire(const std::filesystem::path& database) {
  DETOL_ASSIGN(const auto writer, current_writer(database));
  if (writer) return is_written(database.string(), to_text(*writer));
  WriterLock lock(database.string() + ".lock");
  std::error_code ignored;
  const auto size = std::filesystem::file_size(database, ignored);
  if (!ignored && size > 0) DETOL_TRY(lock.hold(database));
  DETOL_TRY(lock.take_file(database));
  if (auto written = lock.write_holder(""); !written) {
    lock.withdraw();
    return tl::unexpected(std::move(written).error());
  }
  return lock;
}

Result<void> WriterLock::take_file(const std::filesystem::path& database) {
  // The file is never opened through a link, since its content is overwritten.
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  file_ = ::open(path_.c_str(), kFlags);
  if (file_ < 0 && errno == ENOENT) {
    file_ = ::open(path_.c_str(), kFlags | O_CREAT, 0644);
    is_new_ = file_ >= 0;
  }
  if (file_ < 0) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: cannot be created: {}; pass a --storage that you may write", path_,
                            last_error()));
  }
  struct flock whole = whole_file(F_WRLCK);
  if (::fcntl(file_, F_OFD_SETLK, &whole) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return not_locked(path_);
  return is_written(database.string(), to_text(writer_from(text_of(file_))));
}

Result<void> WriterLock::hold(const std::filesystem::path& database) {
  if (database_ >= 0) return {};
  database_ = ::open(database.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (database_ < 0) return not_locked(database.string());
  struct flock byte = writer_byte();
  if (::fcntl(database_, F_OFD_SETLK, &byte) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return not_locked(database.string());
  return is_written(database.string(),
                    fmt::format("a process that does not hold {}: it knows the file by another "
                                "name, or somebody removed that lock",
                                path_));
}

Result<void> WriterLock::write_holder(const std::string& study) const {
  const json holder{{"host", host_name()},
                    {"pid", ::getpid()},
                    {"since", since_},
                    {"study", study},
                    {"token", token_}};
  std::string text = holder.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize(kSize - 1, ' ');
  text.push_back('\n');
  if (::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return fail(ErrorCode::kStorage,
                fmt::format("{}: cannot be written: {}; make room, or pass another --storage",
                            path_, last_error()));
  return {};
}

void WriterLock::announce(const std::string& study) const {
  (void)write_holder(study);
}

bool WriterLock::is_ours() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // deleted, but no other process created it again
  struct stat held {
  }, found{};
  const bool is_same = ::fstat(file_, &held) == 0 && ::fstat(file, &found) == 0 &&
                       are_same_file(held, found) &&
                       field(text_of(file), "token", token_) == token_;
  ::close(file);
  return is_same;
}

void WriterLock::withdraw() {
  if (is_new_) ::unlink(path_.c_str());
}

WriterLock::~WriterLock() {
  for (const int file : {database_, file_}) {
    if (file >= 0) ::close(file);
  }
}

}  // namespace detol::inline knowledge
