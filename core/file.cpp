#include "core/file.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "core/descriptor.h"
#include "core/durable_file.h"

namespace detol::inline core {
namespace {

tl::unexpected<Error> too_large(const std::filesystem::path& path, std::size_t limit_bytes) {
  return fail(ErrorCode::kInput, fmt::format("cannot read {}: it is larger than {} bytes",
                                             path.string(), limit_bytes));
}

using std::chrono::steady_clock;

// Waits until a pipe has something to read. Returns false once its writers have closed it. Errors
// (kInput): neither happened by the deadline.
Result<bool> has_more(const Descriptor& pipe, const std::filesystem::path& path,
                      steady_clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    pollfd asked{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    const int found = ::poll(&asked, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (found > 0) return (asked.revents & POLLIN) != 0;
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return cannot("read", path, ErrorCode::kInput);
    return fail(ErrorCode::kInput,
                fmt::format("cannot read {}: nobody has written and closed this pipe in time; "
                            "save it as a file first",
                            path.string()));
  }
}

// Reads all bytes. Waits for the writers of a pipe until `deadline`; never for a regular file.
Result<std::string> read_all(const Descriptor& file, const std::filesystem::path& path,
                             std::size_t limit_bytes, steady_clock::time_point deadline) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot("read", path, ErrorCode::kInput);
  if (static_cast<std::uintmax_t>(info.st_size) > limit_bytes) return too_large(path, limit_bytes);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(info.st_size) + 1);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    const bool nobody_came = got == 0 && bytes.empty() && S_ISFIFO(info.st_mode);
    if (nobody_came || (got < 0 && errno == EAGAIN)) {
      DETOL_ASSIGN(const bool more, has_more(file, path, deadline));
      if (!more && nobody_came) return bytes;
      continue;
    }
    if (got < 0) return cannot("read", path, ErrorCode::kInput);
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    if (bytes.size() > limit_bytes) return too_large(path, limit_bytes);
  }
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  DETOL_ASSIGN(const Descriptor file, open_regular_file(path));
  return read_all(file, path, limit_bytes, steady_clock::now());
}

Result<std::string> read_file_or_pipe(const std::filesystem::path& path, std::size_t limit_bytes,
                                      double wait_s) {
  DETOL_ASSIGN(const Descriptor file, open_regular_file_or_pipe(path));
  const auto wait =
      std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(wait_s));
  return read_all(file, path, limit_bytes, steady_clock::now() + wait);
}

Result<void> write_file_durably(const std::filesystem::path& path, std::string_view bytes,
                                mode_t mode) {
  DETOL_ASSIGN(DurableFile file, DurableFile::create(path, mode));
  DETOL_TRY(file.append(bytes));
  return file.keep();
}

bool may_succeed_later(const Error& error) {
  constexpr std::array kNoSpace = {ENOSPC, EDQUOT, EROFS, EFBIG};
  return std::ranges::find(kNoSpace, error.system_error) != kNoSpace.end();
}

}  // namespace detol::inline core
