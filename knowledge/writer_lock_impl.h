#pragma once

// WriterLock: at most one living process writes a database. The lock on `<path>.lock` belongs
// to the process (an open-file-description lock): the kernel drops it when the holder dies,
// however it dies, so a dead holder needs no cleaning up. The file says who holds it.

#include <filesystem>

#include "core/result.h"

namespace detol {

class WriterLock {
 public:
  // Errors (kStorage): a living process holds it, naming host, pid and since when; the file
  // cannot be created.
  static Result<WriterLock> acquire(const std::filesystem::path& database);

  WriterLock(WriterLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

 private:
  explicit WriterLock(int file) : file_(file) {}
  int file_;
};

}  // namespace detol
