#pragma once

// Arena plans the memory of one compiled candidate. Every buffer has a first and a last use, and
// buffers whose live ranges do not overlap share bytes. One block holds them all; the next
// candidate reuses it, and so faults no pages and zeroes nothing.

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>

namespace detol::inline trainer {

// Buffer is a range of the arena. Its address is known after Arena::place().
struct Buffer {
  std::size_t bytes = 0;
  int first_use = std::numeric_limits<int>::max();  // step
  int last_use = -1;                                // step
  Buffer* shares = nullptr;                         // the buffer that it may overwrite in place
  std::size_t offset = 0;
  std::byte* data = nullptr;

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// MemoryBlock is 2 MiB aligned, on huge pages where the system has them. Not thread-safe.
class MemoryBlock {
 public:
  // Throws std::bad_alloc.
  explicit MemoryBlock(std::size_t bytes);
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Arena {
 public:
  static constexpr int kAlways = std::numeric_limits<int>::max() - 1;

  // Buffers start at multiples of `line` bytes.
  explicit Arena(std::size_t line = 64) : line_(line) {}

  Buffer* make(std::size_t bytes);
  // Makes a buffer that overwrites `old` in place if that is not used later. REQUIRES: equal sizes.
  Buffer* make_over(Buffer* old);
  // Makes a buffer that is live from before the first step until after the last.
  Buffer* make_persistent(std::size_t bytes);

  void use(Buffer* buffer, int step);

  // Gives every buffer its place and the arena its block: the last candidate's if that is free
  // and large enough, else a new one. The contents are arbitrary. Throws std::bad_alloc.
  void place();

  // Do the same in two steps for memory that the caller owns, such as a device's: plan() returns
  // the bytes needed, bind() takes their address.
  std::size_t plan();
  void bind(std::byte* memory);

  std::size_t bytes() const { return bytes_; }  // after place() or plan()

 private:
  void merge_successors();
  void find_offsets();

  const std::size_t line_;
  std::deque<Buffer> buffers_;
  std::size_t bytes_ = 0;
  std::shared_ptr<MemoryBlock> block_;
};

}  // namespace detol::inline trainer
