#pragma once

// SQLite with handles that free themselves and errors as Results, for the rooms of knowledge.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

struct sqlite3;       // a connection
struct sqlite3_stmt;  // a prepared statement

namespace detol::inline knowledge::sqlite {

struct CloseDatabase {
  void operator()(sqlite3* database) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// Returns the last failure of `database` as a kStorage error: what happened, in which file, and
// what to do about it.
Error failure(sqlite3* database);

// Returns true if the last failure was a failed write (full disk, quota, read-only, bad block):
// nothing of the transaction is stored, and a later try may succeed.
bool is_write_refused(sqlite3* database);

// Returns true if the last failure was an fsync: it is unknown what is durable, and another fsync
// may succeed without writing the lost pages.
bool is_sync_failed(sqlite3* database);

// Fails as SQLite would with this extended result code. For fault injection.
Result<void> fail_with(sqlite3* database, int code);

inline constexpr int kBusyTimeoutMs = 5000;  // the wait for another process's lock

// Opens a database through page_checksum_vfs(), for one thread; `flags` are those of
// sqlite3_open_v2.
Result<Database> open(const std::string& name, int flags);

// Opens `path` for the one writer, creating it if it is not there. On a network file system no
// other process may open it meanwhile: a log shared between machines is unsafe, so SQLite locks
// the file exclusively, without shared memory.
Result<Database> open_for_writing(const std::filesystem::path& path);

// Runs statements and drops their rows.
Result<void> run(sqlite3* database, const char* sql);

// Statement: a prepared statement. Bound text is not copied: it must live until the last step().
class Statement {
 public:
  // Prepares the first statement of `sql`; `rest`, unless null, is set to the text after it.
  static Result<Statement> prepare(sqlite3* database, std::string_view sql,
                                   const char** rest = nullptr);

  void bind(int index, std::int64_t value);
  void bind(int index, int value) { bind(index, std::int64_t{value}); }
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, double value);  // NaN: NULL
  void bind(int index, std::string_view value);
  void bind_null(int index);

  // Returns true if there is a row, false at the end.
  Result<bool> step();

  // Steps to the end and makes the statement ready for the next bind.
  Result<void> run();

  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;  // NULL: NaN
  std::string_view text(int column) const;
  int type(int column) const;

  // Returns true if the row's columns have these types: i integer, r real, R real or NULL, t text,
  // ? any. A flipped bit can turn a text into a blob of the same bytes, or a 0 into NULL.
  // REQUIRES: no column of the row was read yet, since reading converts.
  bool has_types(std::string_view types) const;

  sqlite3_stmt* raw() const { return statement_.get(); }

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
};

}  // namespace detol::inline knowledge::sqlite
