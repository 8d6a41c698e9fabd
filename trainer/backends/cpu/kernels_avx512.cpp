// The kernels for processors with AVX-512: CMake compiles this file alone for them. 16 lanes.

#include <immintrin.h>

#include <utility>

#include "trainer/backends/cpu/kernels.h"

#define DETOL_LANES 16
#define DETOL_MULTIPLY_ADD _mm512_fmadd_ps
// The mask avoids a warning: in the plain form of its headers GCC 12 sees something uninitialised.
#define DETOL_MULTIPLY_WORDS(a, b) _mm512_maskz_mul_epu32(0xff, a, b)
#define DETOL_INTEGERS __m512i
#define DETOL_KERNELS kAvx512Kernels
#include "trainer/backends/cpu/kernels_table.h"
