#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/fault.h"

namespace detol {
namespace {

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string text_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code) {
  return fail(code, fmt::format("cannot {} {}: {}", verb, path.string(), text_of(errno)));
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, ErrorCode::kStorage);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_and_sync(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return cannot("create", path, ErrorCode::kStorage);
  if ((errno = errno_of(fault("file.write"))) != 0)
    return cannot("write", path, ErrorCode::kStorage);
  DETOL_TRY(write_all(file.get(), bytes, path));
  if (::fsync(file.get()) != 0) return cannot("fsync", path, ErrorCode::kStorage);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    return cannot("read", path, ErrorCode::kInput);
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::kInput, fmt::format("cannot read {}: it is a folder", path.string()));
  }
  const auto too_large = [&] {
    return fail(ErrorCode::kInput, fmt::format("cannot read {}: it is larger than {} bytes",
                                               path.string(), limit_bytes));
  };
  if (static_cast<std::uintmax_t>(info.st_size) > limit_bytes) return too_large();
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(info.st_size) + 1);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", path, ErrorCode::kInput);
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (bytes.size() > limit_bytes) return too_large();
  }
}

Result<void> write_file_durably(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  if (auto written = write_and_sync(temporary, bytes); !written) {
    ::unlink(temporary.c_str());  // a full disk must not stay full of halves
    return written;
  }
  errno = errno_of(fault("file.rename"));
  if (errno != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = cannot("rename", temporary, ErrorCode::kStorage);
    ::unlink(temporary.c_str());
    return error;
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0)
    return cannot("fsync", folder, ErrorCode::kStorage);
  return {};
}

bool may_succeed_later(const Error& error) {
  return error.message.ends_with(text_of(ENOSPC)) || error.message.ends_with(text_of(EDQUOT)) ||
         error.message.ends_with(text_of(EROFS));
}

}  // namespace detol
