#pragma once

namespace detol::inline core {

// Returns the GFLOP/s (2 per fused multiply-add) of this processor on registers: AVX-512 if
// available, else AVX2. One short probe on the calling thread, timed by the thread's own CPU time,
// so that other processes hardly affect the figure.
double probe_fma();

}  // namespace detol::inline core
