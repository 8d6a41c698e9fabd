#include "tests/support/cuda/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/launch.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

constexpr std::size_t kPage = 4096, kAlignment = 256;
constexpr unsigned char kGuard = 0xa5;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

// One inaccessible page, at least kAlignment guard bytes, the data, guard bytes up to the next
// page, and another inaccessible page.
struct Allocation {
  Place place = Place::kDevice;
  int device = 0;
  std::size_t bytes = 0;
  std::byte* pages = nullptr;
  std::size_t page_bytes = 0;
};

struct Table {
  std::mutex mutex;
  std::map<std::byte*, Allocation> allocations;
  std::map<int, std::size_t> used;  // per device
};

Table& table() {
  static auto* const one = new Table();
  return *one;
}

struct Guards {
  std::byte *before, *after;  // kAlignment bytes; up to the last page
  std::size_t bytes_after;
};

Guards guards_of(std::byte* data, const Allocation& allocation) {
  std::byte* const last = allocation.pages + allocation.page_bytes - kPage;
  std::byte* const end = data + allocation.bytes;
  return {data - kAlignment, end, static_cast<std::size_t>(last - end)};
}

void set_guards(const Guards& guards) {
  std::memset(guards.before, kGuard, kAlignment);
  std::memset(guards.after, kGuard, guards.bytes_after);
}

bool are_whole(const Guards& guards) {
  static const std::array<unsigned char, kAlignment> kWhole = [] {
    std::array<unsigned char, kAlignment> bytes{};
    bytes.fill(kGuard);
    return bytes;
  }();
  return std::memcmp(guards.before, kWhole.data(), kAlignment) == 0 &&
         std::memcmp(guards.after, kWhole.data(), guards.bytes_after) == 0;
}

// Breaks the device if the guards were overwritten, and restores them for the next test.
void check_guards_of(std::byte* data, const Allocation& allocation) {
  const Guards guards = guards_of(data, allocation);
  if (are_whole(guards)) return;
  set_guards(guards);
  const std::string what =
      "a write outside an allocation of " + std::to_string(allocation.bytes) + " bytes";
  break_device(cudaErrorIllegalAddress, what.c_str());
}

// Returns nullptr if the host is out of memory.
std::byte* allocate(std::size_t bytes, Allocation& made) {
  const std::size_t held = rounded_up(bytes, kAlignment);
  made.page_bytes = rounded_up(held + kAlignment, kPage) + 2 * kPage;
  made.bytes = bytes;
  void* pages = mmap(nullptr, made.page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  made.pages = static_cast<std::byte*>(pages);
  std::byte* const last = made.pages + made.page_bytes - kPage;
  mprotect(made.pages, kPage, PROT_NONE);
  mprotect(last, kPage, PROT_NONE);
  set_guards(guards_of(last - held, made));
  return last - held;
}

cudaError_t give(void** pointer, std::size_t bytes, Place place) {
  Allocation made{.place = place, .device = current_device()};
  std::byte* const data = allocate(bytes, made);
  if (data == nullptr) return failed(cudaErrorMemoryAllocation);
  std::memset(data, 0xff, bytes);
  const std::scoped_lock lock(table().mutex);
  if (place == Place::kDevice) table().used[made.device] += rounded_up(bytes, 512);
  table().allocations.emplace(data, made);
  *pointer = data;
  return cudaSuccess;
}

cudaError_t take(void* pointer, Place place) {
  const std::scoped_lock lock(table().mutex);
  const auto found = table().allocations.find(static_cast<std::byte*>(pointer));
  if (found == table().allocations.end() || found->second.place != place)
    return failed(cudaErrorInvalidValue);
  const Allocation& allocation = found->second;
  check_guards_of(found->first, allocation);
  if (place == Place::kDevice) table().used[allocation.device] -= rounded_up(allocation.bytes, 512);
  munmap(allocation.pages, allocation.page_bytes);
  table().allocations.erase(found);
  return is_broken() ? failed(broken_by()) : cudaSuccess;
}

std::size_t free_memory() {
  const std::scoped_lock lock(table().mutex);
  const std::size_t used = table().used[current_device()];
  return settings().memory - std::min(used, settings().memory);
}

}  // namespace

Held held_at(const void* pointer) {
  auto* const at = static_cast<std::byte*>(const_cast<void*>(pointer));
  const std::scoped_lock lock(table().mutex);
  const auto after = table().allocations.upper_bound(at);
  if (after == table().allocations.begin()) return {};
  const auto& [data, allocation] = *std::prev(after);
  if (at > data + allocation.bytes) return {};
  return {allocation.place, static_cast<std::size_t>(data + allocation.bytes - at)};
}

bool is_on_device(const void* pointer, std::size_t bytes) {
  const Held held = held_at(pointer);
  return held.place == Place::kDevice && bytes <= held.bytes_left;
}

bool is_for_device(const void* pointer, std::size_t bytes) {
  const Held held = held_at(pointer);
  return held.place != Place::kHost && bytes <= held.bytes_left;
}

bool can_be_used_by_kernels(const void* pointer) {
  return pointer == nullptr || held_at(pointer).place != Place::kHost;
}

void check_guards() {
  const std::scoped_lock lock(table().mutex);
  for (const auto& [data, allocation] : table().allocations) check_guards_of(data, allocation);
}

}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  if (pointer == nullptr) return failed(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!may_allocate() || bytes > free_memory()) return failed(cudaErrorMemoryAllocation);
  return give(pointer, bytes, Place::kDevice);
}

// Waits for all work, as the real one does.
cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  if (pointer == nullptr) return cudaSuccess;
  drain_all();
  return take(pointer, Place::kDevice);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  constexpr unsigned kKnown =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (pointer == nullptr || (flags & ~kKnown) != 0) return failed(cudaErrorInvalidValue);
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : give(pointer, bytes, Place::kPinned);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = entered()) return error;
  if (const cudaError_t error = unsafe_call()) return error;
  if (pointer == nullptr) return cudaSuccess;
  drain_all();
  return take(pointer, Place::kPinned);
}

cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned flags) {
  if (const cudaError_t error = entered()) return error;
  if (flags != 0 || held_at(host).place != Place::kPinned) return failed(cudaErrorInvalidValue);
  *pointer = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = entered()) return error;
  *free = free_memory();
  *total = settings().memory;
  return cudaSuccess;
}

}  // extern "C"
