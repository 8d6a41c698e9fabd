#pragma once

// WriterLock: at most one live process writes a database. It is two locks of the process
// (open-file-description locks): the kernel drops them when the holder dies, however it dies, so
// a dead holder needs no cleaning up.
//
//   `<path>.lock`   exists before the database, and names the holder, as JSON in one write of
//                   kSize bytes: host, pid, since, study, and a token that no other holder has
//   the database    one byte far beyond its end and beyond those that SQLite locks: this lock
//                   works whatever name the file was opened by

#include <filesystem>
#include <string>
#include <utility>

#include "core/result.h"

namespace detol::inline knowledge {

class WriterLock {
 public:
  // Takes the lock. Errors (kStorage): a live process holds it, naming host, pid and since when;
  // the file cannot be created.
  static Result<WriterLock> acquire(const std::filesystem::path& database);

  // Locks the database itself, if it was created after acquire(), which locks an existing one.
  // REQUIRES: SQLite has not opened it, since closing a file drops SQLite's locks. Errors
  // (kStorage): as acquire().
  Result<void> hold(const std::filesystem::path& database);

  // Writes the name of the running study to the lock's file; empty: none. It is information
  // only, so that a failed write is ignored.
  void announce(const std::string& study) const;

  // Returns false if another process took the lock while this one runs: the file was deleted and
  // created again, or the file system's locks do not work. Opens the file again: only then does a
  // network file system guarantee to show another machine's change.
  bool is_ours() const;

  // Removes the lock's file if this lock created it, for a writer that could not open the database.
  void withdraw();

  WriterLock(WriterLock&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        database_(std::exchange(other.database_, -1)),
        path_(std::move(other.path_)),
        token_(std::move(other.token_)),
        since_(std::move(other.since_)),
        is_new_(other.is_new_) {}
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  explicit WriterLock(std::string path);
  Result<void> take_file(const std::filesystem::path& database);
  Result<void> write_holder(const std::string& study) const;

  int file_ = -1;
  int database_ = -1;
  std::string path_, token_, since_;
  bool is_new_ = false;
};

}  // namespace detol::inline knowledge
