#include "trainer/backends/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <new>
#include <vector>

namespace detol::inline trainer {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Returns the block that is kept between candidates and that the next one reuses.
std::shared_ptr<MemoryBlock>& kept_block() {
  static std::shared_ptr<MemoryBlock> block;
  return block;
}

Buffer* root_of(Buffer* buffer) {
  while (buffer->shares != nullptr) buffer = buffer->shares;
  return buffer;
}

bool meet(const Buffer& a, const Buffer& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

}  // namespace

MemoryBlock::MemoryBlock(std::size_t bytes) : bytes_(rounded_up(bytes, kHugePage)) {
  // Maps one huge page more, so that the block can start on a huge page's boundary.
  const std::size_t mapped = bytes_ + kHugePage;
  if (mapped < bytes) throw std::bad_alloc();
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t before = rounded_up(address, kHugePage) - address;
  data_ = static_cast<std::byte*>(start) + before;
  if (before > 0) munmap(start, before);
  if (before < kHugePage) munmap(data_ + bytes_, kHugePage - before);
  madvise(data_, bytes_, MADV_HUGEPAGE);  // Advice: a system without huge pages is only slower.
}

MemoryBlock::~MemoryBlock() {
  munmap(data_, bytes_);
}

Buffer* Arena::make(std::size_t bytes) {
  buffers_.push_back({.bytes = rounded_up(std::max<std::size_t>(bytes, 1), line_)});
  return &buffers_.back();
}

Buffer* Arena::make_over(Buffer* old) {
  Buffer* buffer = make(old->bytes);
  buffer->shares = old;
  return buffer;
}

Buffer* Arena::make_persistent(std::size_t bytes) {
  Buffer* buffer = make(bytes);
  use(buffer, -1);
  use(buffer, kAlways);
  return buffer;
}

void Arena::use(Buffer* buffer, int step) {
  buffer->first_use = std::min(buffer->first_use, step);
  buffer->last_use = std::max(buffer->last_use, step);
}

// A buffer reuses its predecessor's bytes only if its first use is the step of the predecessor's
// last use. The two then share one live range.
void Arena::merge_successors() {
  std::vector<Buffer*> by_first_use;
  for (Buffer& buffer : buffers_) {
    if (buffer.shares != nullptr) by_first_use.push_back(&buffer);
  }
  std::ranges::stable_sort(by_first_use, {}, &Buffer::first_use);
  for (Buffer* buffer : by_first_use) {
    Buffer* old = root_of(buffer->shares);
    buffer->shares = nullptr;
    if (old->last_use != buffer->first_use || old->bytes != buffer->bytes) continue;
    buffer->shares = old;
    old->last_use = std::max(old->last_use, buffer->last_use);
  }
}

// Places the largest buffers first, each at the lowest offset that is free during its live range:
// within a few percent of the best for chains and residual blocks. The time is quadratic in the
// buffers, some hundred.
void Arena::find_offsets() {
  std::vector<Buffer*> order;
  for (Buffer& buffer : buffers_) {
    if (buffer.shares == nullptr) order.push_back(&buffer);
  }
  std::ranges::stable_sort(order, std::greater<>(), &Buffer::bytes);
  std::vector<Buffer*> placed;  // by offset
  for (Buffer* buffer : order) {
    std::size_t offset = 0;
    for (const Buffer* other : placed) {
      if (!meet(*buffer, *other)) continue;
      if (other->offset >= offset + buffer->bytes) break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    buffer->offset = offset;
    bytes_ = std::max(bytes_, offset + buffer->bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Buffer::offset), buffer);
  }
}

std::size_t Arena::plan() {
  merge_successors();
  find_offsets();
  return bytes_;
}

void Arena::bind(std::byte* memory) {
  for (Buffer& buffer : buffers_) buffer.data = memory + root_of(&buffer)->offset;
}

void Arena::place() {
  assert(block_ == nullptr);
  plan();
  std::shared_ptr<MemoryBlock>& kept = kept_block();
  const bool free = kept != nullptr && kept.use_count() == 1;
  if (free && kept->bytes() < bytes_) kept.reset();
  if (kept == nullptr) kept = std::make_shared<MemoryBlock>(bytes_);
  block_ = kept.use_count() == 1 ? kept : std::make_shared<MemoryBlock>(bytes_);
  bind(block_->data());
}

}  // namespace detol::inline trainer
