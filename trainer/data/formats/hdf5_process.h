#pragma once

// Hdf5Process: libhdf5 in a process of its own. The library trusts the contents of a file: a
// damaged one can make it write out of bounds, or hang. Then that process ends, and has_died()
// returns true. It can write no file, inherits no other descriptor, and ends with this process. One
// request at a time; not thread-safe.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace detol::inline trainer {

// Hdf5Array stores what a file states about an array, not yet checked.
struct Hdf5Array {
  static constexpr int kMostSizes = 32;  // HDF5's limit

  bool is_there = false;           // in this file; links to other files are not followed
  bool is_self_contained = false;  // its numbers are in this file, too
  bool is_integer = false;
  bool is_float = false;
  bool is_of_bytes = false;   // unsigned
  std::int32_t rank = 0;      // 0: not an array with sizes
  std::uint64_t element = 0;  // bytes
  std::uint64_t stored = 0;   // bytes in the file
  std::array<std::int64_t, kMostSizes> sizes{};
};

enum class Hdf5Number : std::int32_t { kByte, kWhole, kFloat, kDouble };  // u8, i64, f32, f64

class Hdf5Process {
 public:
  // Starts the process. Errors (kInput): no process can be started.
  static Result<Hdf5Process> start(const std::string& path);
  Hdf5Process(Hdf5Process&& other) noexcept;
  Hdf5Process& operator=(Hdf5Process&&) = delete;
  ~Hdf5Process();

  // Returns whether the file was opened; false also if it is no HDF5 file.
  bool is_open();

  Hdf5Array find(std::string_view name);

  // Reads all elements of samples first .. first + count - 1 of an array, converted to `number`.
  // Returns false if they cannot be read. REQUIRES: `out` has their size.
  bool read(std::string_view name, std::int64_t first, std::int64_t count, Hdf5Number number,
            std::span<std::byte> out);

  // Returns true after the library crashed or hung, as the file is damaged. Nothing is read any
  // more.
  bool has_died() const { return has_died_; }

 private:
  Hdf5Process(pid_t process, Descriptor socket) : process_(process), socket_(std::move(socket)) {}

  template <typename Answer>
  Answer ask(const struct Hdf5Request& request);
  bool receive(std::span<std::byte> out);

  pid_t process_;  // negative: moved away
  Descriptor socket_;
  bool has_died_ = false;
};

}  // namespace detol::inline trainer
