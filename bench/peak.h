#pragma once

// Peak: the measured peak performance of this processor, so that a training speed can be given as a
// fraction of it. Each call is one short probe on the calling thread, timed by the thread's own
// CPU time: a busy machine lengthens the wait, not the figure.

namespace detol::inline bench {

// GFLOP/s (2 per fused multiply-add) of registers alone: AVX-512 where there is it, else AVX2.
double probe_fma();

// GB/s of a[i] = b[i] + s c[i] over arrays beyond every cache, 3 x 8 bytes per element counted.
// Allocates 192 MB at the first call.
double probe_bandwidth();

}  // namespace detol::inline bench
