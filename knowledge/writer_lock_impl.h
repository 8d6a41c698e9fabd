#pragma once

// WriterLock: at most one living process writes a database. The lock on `<path>.lock` belongs
// to the process (an open-file-description lock): the kernel drops it when the holder dies,
// however it dies, so a dead holder needs no cleaning up. The file says who holds it.

#include <filesystem>
#include <string>
#include <utility>

#include "core/result.h"

namespace detol {

class WriterLock {
 public:
  // Errors (kStorage): a living process holds it, naming host, pid and since when; the file
  // cannot be created.
  static Result<WriterLock> acquire(const std::filesystem::path& database);

  // Removes the lock's file if it was not there before: nothing will be written after all.
  void withdraw();

  WriterLock(WriterLock&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        path_(std::move(other.path_)),
        is_new_(other.is_new_) {}
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  explicit WriterLock(std::string path);

  int file_ = -1;
  std::string path_;
  bool is_new_ = false;
};

}  // namespace detol
