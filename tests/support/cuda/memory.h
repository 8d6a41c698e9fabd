#pragma once

// Memory: what the emulated device has given out, so that copies and kernels can be held to it.
// Fresh memory is 0xff everywhere, which is NaN; bytes before and after it are
// watched, and pages behind those cannot be touched. Safe to use from any thread.

#include <cstddef>

namespace detol::emulated {

enum class Place { kHost, kPinned, kDevice };

struct Held {
  Place place = Place::kHost;
  std::size_t bytes_left = 0;  // from the pointer to the end; of kHost, 0
};

// Where a pointer points. The end of an allocation counts as its own.
Held held_at(const void* pointer);

// All bytes of the stretch lie in one allocation of the device.
bool is_on_device(const void* pointer, std::size_t bytes);
// The same, of the device or pinned.
bool is_for_device(const void* pointer, std::size_t bytes);

// Breaks the device where somebody wrote beside an allocation.
void check_guards();

}  // namespace detol::emulated
