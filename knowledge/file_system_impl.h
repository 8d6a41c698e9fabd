#pragma once

// Queries and durable operations of the file system under a knowledge base.

#include <filesystem>

#include "core/result.h"

namespace detol::inline knowledge {

// True where another machine may have the same file open: NFS, Lustre, GPFS, BeeGFS, CIFS,
// CephFS, AFS, 9p, and FUSE, behind which anything can be. Shared memory beside a file means
// nothing there. DETOL_TEST_NETWORK_FS=1 makes every folder such a place, for tests.
bool is_on_network(const std::filesystem::path& path);

// `path`, or where it leads if it is a symbolic link: SQLite's log, the lock and the folder of
// artefacts belong to the file, whatever it is called. Links in a circle stay as they are.
std::filesystem::path real_path(const std::filesystem::path& path);

// Errors (kStorage): the database or a file beside it is there and is no regular file (SQLite would
// wait for the writer of a pipe without an end), or the database has several names (hard links):
// its log belongs to one of them alone.
Result<void> check_files(const std::filesystem::path& database);

// fsync of a file or folder. Errors (kStorage).
Result<void> sync_path(const std::filesystem::path& path);

// The finished file takes its name, durably. Errors (kStorage).
Result<void> rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace detol::inline knowledge
