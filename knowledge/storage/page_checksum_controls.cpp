// What callers ask of an open database through the VFS of page_checksums.cpp.

#include <fmt/format.h>

#include <sqlite3.h>

#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/page_layout.h"

namespace detol::inline knowledge::sqlite {

Result<void> reserve_checksums(sqlite3* database) {
  int bytes = kChecksumBytes;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  int reserved = -1;  // asks, and changes nothing
  sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  if (reserved == kChecksumBytes) return {};
  const char* name = sqlite3_db_filename(database, "main");
  return fail(ErrorCode::kStorage,
              fmt::format("{}: another program reserved {} bytes of each page, so there is no room "
                          "for checksums; pass another --storage",
                          name != nullptr ? name : "database", reserved));
}

bool is_page_damaged(sqlite3* database) {
  return sqlite3_extended_errcode(database) == SQLITE_IOERR_DATA;
}

std::int64_t damaged_page(sqlite3* database) {
  std::int64_t page = 0;
  sqlite3_file_control(database, "main", kDamagedPage, &page);
  return page;
}

void skip_verification(sqlite3* database) {
  sqlite3_file_control(database, "main", kSkipVerification, nullptr);
}

std::int64_t count_stale_pages(sqlite3* database) {
  std::int64_t count = 0;
  sqlite3_file_control(database, "main", kCountStalePages, &count);
  return count;
}

bool renew_checksums(sqlite3* database) {
  std::int64_t count = 0;
  return sqlite3_file_control(database, "main", kRenewChecksums, &count) == SQLITE_OK;
}

}  // namespace detol::inline knowledge::sqlite
