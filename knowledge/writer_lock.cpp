#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "knowledge/writer_lock_impl.h"

namespace detol {
namespace {

std::string last_error() {
  return std::generic_category().message(errno);
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string holder_of(int file) {
  std::array<char, 1024> text{};
  const auto size = ::pread(file, text.data(), text.size(), 0);
  const auto holder = nlohmann::json::parse(text.data(), text.data() + (size > 0 ? size : 0),
                                            nullptr, /*allow_exceptions=*/false);
  if (!holder.is_object()) return "another process";
  return fmt::format("process {} on host {} since {}", holder.value("pid", 0),
                     holder.value("host", "unknown"), holder.value("since", "unknown"));
}

Result<void> write_holder(int file, const std::string& path) {
  const nlohmann::json holder{
      {"host", host_name()},
      {"pid", ::getpid()},
      {"since", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))}};
  const std::string text = holder.dump() + "\n";
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail(ErrorCode::kStorage, fmt::format("{}: cannot be written: {}", path, last_error()));
  }
  return {};
}

}  // namespace

WriterLock::WriterLock(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ >= 0 || errno != ENOENT) return;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  is_new_ = file_ >= 0;
}

Result<WriterLock> WriterLock::acquire(const std::filesystem::path& database) {
  const std::string path = database.string() + ".lock";
  WriterLock lock(path);
  if (lock.file_ < 0) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: cannot be created: {}; pass a --storage that you may write", path,
                            last_error()));
  }
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.file_, F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) {
      return fail(ErrorCode::kStorage, fmt::format("{}: cannot be locked: {}", path, last_error()));
    }
    return fail(ErrorCode::kStorage,
                fmt::format("{} is being written by {}; stop that search first, or pass another "
                            "--storage",
                            database.string(), holder_of(lock.file_)));
  }
  DETOL_TRY(write_holder(lock.file_, path));
  return lock;
}

void WriterLock::withdraw() {
  if (is_new_) ::unlink(path_.c_str());
}

WriterLock::~WriterLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace detol
