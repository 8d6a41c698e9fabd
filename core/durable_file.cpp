#include "core/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "core/fault.h"

namespace detol::inline core {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".tmp-";
constexpr std::size_t kDigits = 8;

}  // namespace

Result<FreshFile> create_beside(const fs::path& path, mode_t mode) {
  constexpr int kTries = 100;  // a random name is rarely taken, unless on purpose
  std::random_device random;
  fs::path temporary;
  for (int i = 0; i < kTries; ++i) {
    temporary = fmt::format("{}{}{:0{}x}", path.string(), kUnfinished, random(), kDigits);
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() >= 0) return FreshFile{std::move(temporary), std::move(file)};
    if (errno != EEXIST) break;
  }
  return cannot("create", temporary, ErrorCode::kStorage);
}

std::optional<std::string> finished_name(std::string_view temporary) {
  const std::size_t at = temporary.rfind(kUnfinished);
  if (at == std::string_view::npos || temporary.size() != at + kUnfinished.size() + kDigits)
    return std::nullopt;
  return std::string(temporary.substr(0, at));
}

void remove_unfinished(const fs::path& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) {
    if (finished_name(entry.path().filename().string()) == path.filename().string())
      fs::remove(entry.path(), ignored);
  }
}

Result<DurableFile> DurableFile::create(const fs::path& path, mode_t mode) {
  DETOL_ASSIGN(FreshFile fresh, create_beside(path, mode));
  return DurableFile(path, std::move(fresh));
}

DurableFile::DurableFile(fs::path path, FreshFile fresh)
    : path_(std::move(path)), temporary_(std::move(fresh.path)), file_(std::move(fresh.file)) {}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

// Removes the temporary file of an unfinished write, so that it does not fill the disk.
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
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0)
    return cannot("fsync", folder, ErrorCode::kStorage);
  return {};
}

}  // namespace detol::inline core
