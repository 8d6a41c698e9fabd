#pragma once

// Descriptor: an open file as system calls see it, closed on every way out.

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace detol {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;  // negative: none
};

// Opens a file to read, however a user came to name it. It never waits, as for the writer of a
// pipe, and refuses what is no regular file: a folder, a pipe, a device, a socket. So nothing that
// detol reads is without an end. Errors (`code`): the path, and what it is or the reason.
Result<Descriptor> open_regular_file(const std::filesystem::path& path,
                                     ErrorCode code = ErrorCode::kInput);

// The same, and a pipe is accepted, too: <(...) and /dev/stdin of a shell. Its reader does not wait
// either (O_NONBLOCK).
Result<Descriptor> open_regular_file_or_pipe(const std::filesystem::path& path,
                                             ErrorCode code = ErrorCode::kInput);

// For libraries that open files themselves. Errors (`code`): there is something at `path`, and it
// is no regular file.
Result<void> check_regular_file(const std::filesystem::path& path,
                                ErrorCode code = ErrorCode::kInput);

// "cannot <verb> <path>: <why>", where errno says why.
tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code);

}  // namespace detol
