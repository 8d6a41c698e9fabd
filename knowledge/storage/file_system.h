#pragma once

// Queries and durable operations of the file system under a knowledge base.

#include <filesystem>

#include "core/result.h"

namespace detol::inline knowledge {

// Returns true if another machine may have the same file open: NFS, Lustre, GPFS, BeeGFS, CIFS,
// CephFS, AFS, 9p, and FUSE, which may be any of them. SQLite's shared memory does not work there.
// DETOL_TEST_NETWORK_FS=1 makes it true for every folder, for tests.
bool is_on_network(const std::filesystem::path& path);

// Returns `path`, or the file that it names as a symbolic link: SQLite's log, the lock and the
// folder of artefacts are beside the file itself. Links in a circle are returned as they are.
std::filesystem::path real_path(const std::filesystem::path& path);

// Errors (kUsage): `database` is a URL, as other programs take it. A path of that form whose folder
// exists is a path.
Result<void> check_is_path(const std::filesystem::path& database);

// Checks the files of a database. Errors (kStorage): the database or a file beside it exists and is
// no regular file (SQLite would wait for ever for the writer of a pipe), or the database has
// several names (hard links): its log belongs to one of them alone.
Result<void> check_files(const std::filesystem::path& database);

// Calls fsync for a file or folder. Errors (kStorage).
Result<void> sync_path(const std::filesystem::path& path);

// Copies `from` into a new file beside `to`, which no symbolic link can redirect, and renames it: a
// kill leaves no half file, and a link in the place of `to` is replaced. Errors (kStorage).
Result<void> copy_into_place(const std::filesystem::path& from, const std::filesystem::path& to);

// fsyncs `from`, renames it to `to` and fsyncs the folder. Errors (kStorage).
Result<void> rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace detol::inline knowledge
