#pragma once

// OtherProgram: a SQLite client that knows nothing of detol, as Python or `sqlite3` are. It has
// `database` open while it lives; if it is the last to close, SQLite moves the log into the file.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace detol::testing_support {

class OtherProgram {
 public:
  explicit OtherProgram(const std::filesystem::path& database) {
    EXPECT_EQ(sqlite3_open_v2(database.c_str(), &handle_, SQLITE_OPEN_READWRITE, "unix"),
              SQLITE_OK);
    run("SELECT count(*) FROM events");
  }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
  ~OtherProgram() { sqlite3_close(handle_); }

  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(handle_);
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace detol::testing_support
