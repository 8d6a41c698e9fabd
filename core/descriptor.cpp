#include "core/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace detol::inline core {
namespace {

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "folder";
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

tl::unexpected<Error> refuse(const std::filesystem::path& path, mode_t mode, ErrorCode code) {
  return fail(code, fmt::format("cannot read {}: it is a {}; name a regular file", path.string(),
                                kind_of(mode)));
}

struct Opened {
  Descriptor file;
  mode_t mode = 0;
};

Result<Opened> open_without_waiting(const std::filesystem::path& path, ErrorCode code) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    const int error = errno;
    DETOL_TRY(check_regular_file(path, code));  // a socket cannot be opened
    errno = error;
    return cannot("read", path, code);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot("read", path, code);
  return Opened{std::move(file), info.st_mode};
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Result<Descriptor> open_regular_file(const std::filesystem::path& path, ErrorCode code) {
  DETOL_ASSIGN(Opened opened, open_without_waiting(path, code));
  if (!S_ISREG(opened.mode)) return refuse(path, opened.mode, code);
  return std::move(opened.file);
}

Result<Descriptor> open_regular_file_or_pipe(const std::filesystem::path& path, ErrorCode code) {
  DETOL_ASSIGN(Opened opened, open_without_waiting(path, code));
  if (!S_ISREG(opened.mode) && !S_ISFIFO(opened.mode)) return refuse(path, opened.mode, code);
  return std::move(opened.file);
}

Result<void> check_regular_file(const std::filesystem::path& path, ErrorCode code) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  return refuse(path, info.st_mode, code);
}

tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code) {
  return cannot(verb, path, code, std::error_code(errno, std::generic_category()));
}

tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code, const std::error_code& reason) {
  auto error = fail(code, fmt::format("cannot {} {}: {}", verb, path.string(), reason.message()));
  error.value().system_error = reason.value();
  return error;
}

}  // namespace detol::inline core
