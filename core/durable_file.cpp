#include "core/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/fault.h"

namespace detol {

Result<DurableFile> DurableFile::create(const std::filesystem::path& path) {
  std::filesystem::path temporary = path.string() + ".tmp";
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return cannot("create", temporary, ErrorCode::kStorage);
  return DurableFile(path, std::move(temporary), std::move(file));
}

DurableFile::DurableFile(std::filesystem::path path, std::filesystem::path temporary,
                         Descriptor file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

// A full disk must not stay full of halves.
DurableFile::~DurableFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> DurableFile::append(std::string_view bytes) {
  if ((errno = errno_of(fault("file.write"))) != 0)
    return cannot("write", temporary_, ErrorCode::kStorage);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", temporary_, ErrorCode::kStorage);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> DurableFile::keep() {
  if (::fsync(file_.get()) != 0) return cannot("fsync", temporary_, ErrorCode::kStorage);
  errno = errno_of(fault("file.rename"));
  if (errno != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return cannot("rename", temporary_, ErrorCode::kStorage);
  temporary_.clear();
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0)
    return cannot("fsync", folder, ErrorCode::kStorage);
  return {};
}

}  // namespace detol
