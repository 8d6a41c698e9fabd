#include "knowledge/storage/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "core/descriptor.h"
#include "core/durable_file.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

// Types of statfs(2): nfs, lustre, gpfs, beegfs, cifs, smb2, ceph, afs, 9p, fuse.
constexpr std::array<unsigned long, 10> kNetworkFileSystems = {
    0x6969,     0x0BD00BD0, 0x47504653, 0x19830326, 0xFF534D42,
    0xFE534D42, 0x00C36400, 0x5346414F, 0x01021997, 0x65735546};

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_forced() {
  const char* text = std::getenv("DETOL_TEST_NETWORK_FS");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace

bool is_on_network(const fs::path& path) {
  if (is_forced()) return true;
  struct statfs system {};
  if (::statfs(folder_of(path).c_str(), &system) != 0) return false;
  const auto type = static_cast<unsigned long>(system.f_type) & 0xFFFFFFFFUL;
  return std::ranges::find(kNetworkFileSystems, type) != kNetworkFileSystems.end();
}

fs::path real_path(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  std::error_code error;
  fs::path real = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(real, error); ++i)
    real = real.parent_path() / fs::read_symlink(real, error);
  return fs::is_symlink(real, error) ? path : real;
}

Result<void> check_is_path(const fs::path& database) {
  const std::string text = database.string();
  std::error_code error;
  if (text.find(":/") == std::string::npos || fs::exists(folder_of(database), error)) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("{}: --storage takes a path, no URL; leave out what is "
                          "before the path, as 'sqlite:///'",
                          text));
}

Result<void> check_files(const fs::path& database) {
  for (const char* tail : {"", "-wal", "-shm", "-journal", ".lock"})
    DETOL_TRY(check_regular_file(database.string() + tail, ErrorCode::kStorage));
  struct stat info {};
  if (::lstat(database.c_str(), &info) != 0 || info.st_nlink == 1) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{0}: this file has {1} names (hard links), but its log belongs to one "
                          "of them; remove the others (find / -xdev -inum {2}), or give this name "
                          "a file of its own while nothing runs: cp -p {0} {0}.own && mv {0}.own "
                          "{0}",
                          database.string(), info.st_nlink, info.st_ino));
}

Result<void> sync_path(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = file >= 0 && ::fsync(file) == 0;
  const std::error_code error(errno, std::generic_category());
  if (file >= 0) ::close(file);
  if (is_synced) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("fsync of {} failed: {}", path.string(), error.message()));
}

Result<void> copy_into_place(const fs::path& from, const fs::path& to) {
  DETOL_ASSIGN(const FreshFile fresh, create_beside(to));
  std::error_code error;
  fs::copy_file(from, fresh.path, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(fresh.path, to, error);
  if (!error) return {};
  std::error_code ignored;
  fs::remove(fresh.path, ignored);
  return fail(ErrorCode::kStorage, fmt::format("{} cannot be copied to {}: {}", from.string(),
                                               to.string(), error.message()));
}

Result<void> rename_durably(const fs::path& from, const fs::path& to) {
  DETOL_TRY(sync_path(from));
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return sync_path(folder_of(to));
  return fail(ErrorCode::kStorage, fmt::format("cannot rename {} to {}: {}", from.string(),
                                               to.string(), error.message()));
}

}  // namespace detol::inline knowledge
