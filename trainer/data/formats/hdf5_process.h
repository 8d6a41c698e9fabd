#pragma once

// Hdf5Process: libhdf5 in a process of its own. The library believes what a file says about itself:
// a damaged one makes it write beside its memory, or never come to an end. Then that process ends,
// and whoever asked it has an answer. It can write no file, keeps no other descriptor of ours, and
// ends with us. One request at a time; not thread-safe.

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

// Hdf5Array is what a file says of an array. Nothing of it is checked yet.
struct Hdf5Array {
  static constexpr int kMostSizes = 32;  // of HDF5

  bool is_there = false;           // in this file: no link out of it is followed
  bool is_self_contained = false;  // so are its numbers
  bool is_whole = false;
  bool is_float = false;
  bool is_of_bytes = false;   // unsigned
  std::int32_t rank = 0;      // 0: it has no sizes
  std::uint64_t element = 0;  // bytes
  std::uint64_t stored = 0;   // bytes in the file
  std::array<std::int64_t, kMostSizes> sizes{};
};

enum class Hdf5Number : std::int32_t { kByte, kWhole, kFloat };  // u8, i64, f32

class Hdf5Process {
 public:
  // Errors (kInput): no process can be started.
  static Result<Hdf5Process> start(const std::string& path);
  Hdf5Process(Hdf5Process&& other) noexcept;
  Hdf5Process& operator=(Hdf5Process&&) = delete;
  ~Hdf5Process();

  // False also if it is no HDF5 file.
  bool is_open();

  Hdf5Array find(std::string_view name);

  // Samples first .. first + count - 1 of an array, all their elements, converted to `number`.
  // False: they cannot be read. REQUIRES: `out` has their size.
  bool read(std::string_view name, std::int64_t first, std::int64_t count, Hdf5Number number,
            std::span<std::byte> out);

  // The library crashed or did not come to an end: the file is damaged. Nothing is read any more.
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
