#include "knowledge/storage/storage_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "knowledge/storage/file_system.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

struct FileSystem {
  unsigned long type;  // statfs(2)
  std::string_view name;
};
constexpr std::array kFileSystems = {
    FileSystem{0xEF53, "ext4"},      FileSystem{0x58465342, "xfs"},
    FileSystem{0x9123683E, "btrfs"}, FileSystem{0x2FC12FC1, "zfs"},
    FileSystem{0x01021994, "tmpfs"}, FileSystem{0x794C7630, "overlay"},
    FileSystem{0x6969, "nfs"},       FileSystem{0x0BD00BD0, "lustre"},
    FileSystem{0x47504653, "gpfs"},  FileSystem{0x19830326, "beegfs"},
    FileSystem{0xFF534D42, "cifs"},  FileSystem{0xFE534D42, "smb2"},
    FileSystem{0x00C36400, "ceph"},  FileSystem{0x5346414F, "afs"},
    FileSystem{0x01021997, "9p"},    FileSystem{0x65735546, "fuse"},
};

std::string file_system_of(const fs::path& folder) {
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return "unknown";
  const auto type = static_cast<unsigned long>(system.f_type) & 0xFFFFFFFFUL;
  for (const FileSystem& known : kFileSystems) {
    if (known.type == type) return std::string(known.name);
  }
  return fmt::format("0x{:x}", type);
}

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

// Writes, locks and syncs a file as the knowledge base does; returns errno, or 0.
int try_out(const fs::path& folder) {
  std::string name = (folder / ".detol-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) return errno;
  struct flock whole = whole_file();
  const bool works = ::write(file, "detol", 5) == 5 && ::fcntl(file, F_OFD_SETLK, &whole) == 0 &&
                     ::fsync(file) == 0;
  const int error = works ? 0 : errno;
  ::close(file);
  ::unlink(name.c_str());
  return error;
}

}  // namespace

Result<StoragePlace> storage_place(const fs::path& database) {
  DETOL_TRY(check_is_path(database));
  std::error_code ignored;
  const fs::path folder = fs::absolute(real_path(database), ignored).parent_path();
  if (const int error = try_out(folder); error != 0) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: no file can be kept there: {}; choose another --storage",
                            folder.string(), std::generic_category().message(error)));
  }
  return StoragePlace{folder.string(), file_system_of(folder), is_on_network(real_path(database))};
}

}  // namespace detol::inline knowledge
