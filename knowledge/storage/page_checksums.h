#pragma once

// Checksums of pages: a flipped bit anywhere in a database file makes the read of its page fail,
// and a query verifies exactly the pages that it reads.
//
// A file with checksums reserves the last 8 bytes of every page (byte 20 of its header is 8). They
// hold hash64() of the page before them, with the page's number as the seed, little endian. SQLite
// ignores reserved bytes, so every program can read and write such a file; but a page that a
// program without our VFS has written has a stale checksum, and is refused until renew_checksums().
//
// A VFS verifies and writes them (sqlite.org/vfs.html), for database files only: the log has
// checksums of its own, and the reserved bytes of its pages mean nothing. Files that reserve
// nothing are read and written as ever.

#include <cstdint>

#include "core/result.h"

struct sqlite3;

namespace detol::inline knowledge::sqlite {

// Names of the VFS over "unix", and of the one over "unix-none", which takes no locks. Neither is
// SQLite's default.
inline constexpr const char* kPageChecksumVfs = "detol";
inline constexpr const char* kUnlockedPageChecksumVfs = "detol-none";

// Registers both on the first call, and returns the name of the first. Thread-safe.
const char* page_checksum_vfs();

// Opcodes of sqlite3_file_control, whose own are below 100.
enum PageChecksumOpcode : int {
  kSkipVerification = 0x64740001,  // argument: none
  kDamagedPage = 0x64740002,       // argument: std::int64_t*, set to damaged_page()
  kCountStalePages = 0x64740003,   // argument: std::int64_t*, set to their number
  kRenewChecksums = 0x64740004,    // the same, and renews them
};

// Makes the database reserve bytes for checksums from its first page on, or from the next VACUUM
// on. Errors (kStorage): the file reserves more bytes already.
// REQUIRES: no page was written yet, or the journal is a rollback journal: a checkpoint may copy
// pages of a VACUUM without the header that announces their checksums.
Result<void> reserve_checksums(sqlite3* database);

// Returns true if the last failure of `database` was a page that does not match its checksum.
bool is_page_damaged(sqlite3* database);

// Returns the number, from 1, of the last page that did not match its checksum since `database`
// was opened; 0: none.
std::int64_t damaged_page(sqlite3* database);

// Lets `database` read pages without verification from now on. It still writes checksums. Of no
// effect on a database that was not opened through our VFS.
void skip_verification(sqlite3* database);

// Returns the number of pages of the file that do not match their checksums; 0 for a file without
// checksums. Ignores the log. Time: one read of the file.
std::int64_t count_stale_pages(sqlite3* database);

// Writes the checksums of these pages, durably. It changes reserved bytes only, so other processes
// may have the file open. Returns false if the file cannot be written. REQUIRES: the file is known
// to be sound by other means.
bool renew_checksums(sqlite3* database);

}  // namespace detol::inline knowledge::sqlite
