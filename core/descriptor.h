#pragma once

// Descriptor: an open file as the system calls of core/*_file.cpp see it, closed on every way out.

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace detol {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;  // negative: none
};

// "cannot <verb> <path>: <why>", where errno says why.
tl::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path,
                             ErrorCode code);

}  // namespace detol
