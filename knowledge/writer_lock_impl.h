#pragma once

// WriterLock: at most one living process writes a database. It is two locks of the process
// (open-file-description locks): the kernel drops them when the holder dies, however it dies, so
// a dead holder needs no cleaning up.
//
//   `<path>.lock`   is there before the database, and says who holds it, as JSON in one write of
//                   kSize bytes: host, pid, since, study, and a token that no other holder has
//   the database    one byte far behind its end and behind those that SQLite locks: it holds
//                   whatever name the file was opened by

#include <filesystem>
#include <string>
#include <utility>

#include "core/result.h"

namespace detol::inline knowledge {

class WriterLock {
 public:
  // Errors (kStorage): a living process holds it, naming host, pid and since when; the file
  // cannot be created.
  static Result<WriterLock> acquire(const std::filesystem::path& database);

  // Locks the database itself, if it was made since: acquire() locks one that is there. Before
  // SQLite opens it, since closing a file drops SQLite's locks. Errors (kStorage): as acquire().
  Result<void> hold(const std::filesystem::path& database);

  // Names the study that is being run in the file; empty: none. For people: a failure to
  // write it is not one of the lock.
  void announce(const std::string& study) const;

  // False if another process took the lock although this one lives: the file was deleted and
  // made again, or the file system's locks do not work. Reads the file anew: a network file
  // system promises to show another machine's change only then.
  bool is_ours() const;

  // Removes the lock's file if it was not there before: nothing will be written after all.
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
