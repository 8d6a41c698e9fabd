#include "scheduler/processes/marked_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "run-";
constexpr const char* kMarker = "marker";
constexpr int kAttempts = 3;

// Checks that only this user and root can rename or replace what this user makes in `place`.
Result<void> check_place(const fs::path& place) {
  struct stat info {};
  if (::stat(place.c_str(), &info) != 0) return cannot("use", place, ErrorCode::kStorage);
  const bool is_trusted =
      (info.st_uid == ::geteuid() || info.st_uid == 0) && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (is_trusted || (info.st_mode & S_ISVTX) != 0) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("cannot use {}: other users may rename what is in it", place.string()));
}

Result<fs::path> parent_in(const fs::path& place) {
  DETOL_TRY(check_place(place));
  fs::path parent = place / fmt::format("detol-{}", ::geteuid());
  if (::mkdir(parent.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return cannot("make", parent, ErrorCode::kStorage);
  struct stat info {};
  if (::lstat(parent.c_str(), &info) != 0) return cannot("use", parent, ErrorCode::kStorage);
  constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;
  const bool is_own = S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  if (is_own && (info.st_mode & kPermissions) == S_IRWXU) return parent;
  return fail(ErrorCode::kStorage,
              fmt::format("cannot use {}: it is no folder of this user alone (mode 0700)",
                          parent.string()));
}

Result<std::string> fresh_name() {
  constexpr std::size_t kBytes = 6;
  std::uint64_t id = 0;
  if (::getrandom(&id, kBytes, 0) != kBytes)
    return fail(ErrorCode::kStorage, "this system has no random numbers");
  return fmt::format("{}{:012x}", kPrefix, id);
}

std::string marker_of(const fs::path& folder) {
  return fmt::format("detol {}\n", folder.filename().string());
}

// Makes the marker of a new folder, and locks it before its text is written.
Result<Descriptor> mark(const fs::path& folder) {
  const fs::path path = folder / kMarker;
  Descriptor marker(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (marker.get() < 0) return cannot("make", path, ErrorCode::kStorage);
  if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0)
    return cannot("lock", path, ErrorCode::kStorage);
  const std::string text = marker_of(folder);
  if (::write(marker.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return cannot("write", path, ErrorCode::kStorage);
  return marker;
}

// Whether nothing but the marker is in the folder.
bool has_marker_alone(const fs::path& folder) {
  std::error_code ignored;
  return std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()) == 1;
}

// Returns the lock on the marker of a folder that a killed process left, or nullopt.
std::optional<Descriptor> lock_remains(const fs::path& folder) {
  const Descriptor directory(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0) return std::nullopt;
  Descriptor marker(
      ::openat(directory.get(), kMarker, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const std::string expected = marker_of(folder);
  std::string text(expected.size() + 1, '\0');
  const ssize_t size = marker.get() < 0 ? -1 : ::read(marker.get(), text.data(), text.size());
  if (size < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(size));
  const bool is_unfinished = text.empty() && has_marker_alone(folder);  // killed while it marked
  if (text != expected && !is_unfinished) return std::nullopt;
  if (::flock(marker.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return marker;
}

// Removes the marker last: if this process is killed before, the next run removes the rest.
void remove_marked(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename() != kMarker) inside.push_back(entry.path());
  }
  for (const fs::path& path : inside) fs::remove_all(path, ignored);  // follows no symlink
  fs::remove(folder / kMarker, ignored);
  fs::remove(folder, ignored);
}

void sweep(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) all.push_back(entry.path());
  for (const fs::path& folder : all) {
    if (!folder.filename().string().starts_with(kPrefix)) continue;
    if (const auto lock = lock_remains(folder)) remove_marked(folder);
    // A process killed before it made the marker, or after it removed it, leaves an empty folder.
    ::rmdir(folder.c_str());  // fails if anything is in it
  }
}

}  // namespace

// Makes several attempts: another run may remove the parent or the folder while it is empty.
Result<MarkedFolder> MarkedFolder::make(const fs::path& place) {
  for (int attempt = 1;; ++attempt) {
    auto folder = make_once(place);
    if (folder || attempt == kAttempts) return folder;
  }
}

Result<MarkedFolder> MarkedFolder::make_once(const fs::path& place) {
  DETOL_ASSIGN(const fs::path parent, parent_in(place));
  sweep(parent);
  DETOL_ASSIGN(const std::string name, fresh_name());
  fs::path path = parent / name;
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return cannot("make", path, ErrorCode::kStorage);
  auto lock = mark(path);
  if (lock) return MarkedFolder(std::move(path), std::move(*lock));
  remove_marked(path);
  return tl::unexpected(lock.error());
}

MarkedFolder::MarkedFolder(fs::path path, Descriptor lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

MarkedFolder::MarkedFolder(MarkedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

MarkedFolder::~MarkedFolder() {
  if (path_.empty()) return;
  remove_marked(path_);
  ::rmdir(path_.parent_path().c_str());
}

}  // namespace detol::inline scheduler
