#pragma once

namespace detol::inline bench {

// Returns the GB/s of a[i] = b[i] + s c[i] over arrays larger than any cache, 3 x 8 bytes per
// element, timed by the thread's own CPU time. Allocates 192 MB at the first call.
double probe_bandwidth();

}  // namespace detol::inline bench
