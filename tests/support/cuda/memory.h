#pragma once

// Memory: the allocations of the emulated device, against which copies and kernels are checked.
// Fresh memory is 0xff everywhere, which is NaN; guard bytes before and after it are checked, and
// the pages around those are inaccessible. Safe to use from any thread.

#include <cstddef>

namespace detol::emulated {

enum class Place { kHost, kPinned, kDevice };

struct Held {
  Place place = Place::kHost;
  std::size_t bytes_left = 0;  // from the pointer to the end; of kHost, 0
};

// Returns where a pointer points. The end of an allocation counts as part of it.
Held held_at(const void* pointer);

// All bytes of the range lie in one allocation of the device.
bool is_on_device(const void* pointer, std::size_t bytes);
// The same, in memory of the device or pinned memory.
bool is_for_device(const void* pointer, std::size_t bytes);

// Breaks the device if a guard byte was overwritten.
void check_guards();

}  // namespace detol::emulated
