#pragma once

// Peak: the measured peak performance of this processor, so that a training speed can be given as a
// fraction of it. Each call is one short probe on the calling thread, timed by the thread's own
// CPU time, so that other processes hardly affect the figure.

namespace detol::inline bench {

// Returns the GFLOP/s (2 per fused multiply-add) on registers: AVX-512 if available, else AVX2.
double probe_fma();

// Returns the GB/s of a[i] = b[i] + s c[i] over arrays larger than any cache, 3 x 8 bytes per
// element. Allocates 192 MB at the first call.
double probe_bandwidth();

}  // namespace detol::inline bench
