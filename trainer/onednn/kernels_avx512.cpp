// The kernels for processors with AVX-512: CMake compiles this file alone for them. 16 lanes.

#include <immintrin.h>

#include "trainer/onednn/kernels.h"

#define DETOL_LANES 16
#define DETOL_MULTIPLY_ADD _mm512_fmadd_ps
#define DETOL_KERNELS kAvx512Kernels
#include "trainer/onednn/kernels_table.inc"
