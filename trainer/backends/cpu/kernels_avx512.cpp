// The kernels for processors with AVX-512, of 16 lanes. CMake compiles only this file for AVX-512.

#include <immintrin.h>

#include <utility>

#include "trainer/backends/cpu/kernels.h"

#define DETOL_LANES 16
#define DETOL_MULTIPLY_ADD _mm512_fmadd_ps
// The masks avoid a warning: GCC 12's header of the plain form uses an uninitialised variable.
#define DETOL_MULTIPLY_WORDS(a, b) _mm512_maskz_mul_epu32(0xff, a, b)
#define DETOL_FLOOR _mm512_floor_ps
#define DETOL_SQRT(x) _mm512_maskz_sqrt_ps(0xffff, x)
#define DETOL_INTEGERS __m512i
#define DETOL_KERNELS kAvx512Kernels
#include "trainer/backends/cpu/kernels_table.h"
