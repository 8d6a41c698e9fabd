#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/descriptor.h"
#include "core/durable_file.h"

namespace detol {
namespace {

std::string text_of(int error) {
  return std::error_code(error, std::generic_category()).message();
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

Result<void> write_file_durably(const std::filesystem::path& path, std::string_view bytes,
                                mode_t mode) {
  DETOL_ASSIGN(DurableFile file, DurableFile::create(path, mode));
  DETOL_TRY(file.append(bytes));
  return file.keep();
}

bool may_succeed_later(const Error& error) {
  return error.message.ends_with(text_of(ENOSPC)) || error.message.ends_with(text_of(EDQUOT)) ||
         error.message.ends_with(text_of(EROFS));
}

}  // namespace detol
