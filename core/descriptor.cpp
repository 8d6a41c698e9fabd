#include "core/descriptor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace detol {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code) {
  const std::string reason = std::error_code(errno, std::generic_category()).message();
  return fail(code, fmt::format("cannot {} {}: {}", verb, path.string(), reason));
}

}  // namespace detol
