// The kernels for every processor that the program runs on: 8 lanes, one AVX2 register.

#include <immintrin.h>

#include <utility>

#include "trainer/backends/cpu/kernels.h"

#define DETOL_LANES 8
#define DETOL_MULTIPLY_ADD _mm256_fmadd_ps
#define DETOL_MULTIPLY_WORDS _mm256_mul_epu32
#define DETOL_FLOOR _mm256_floor_ps
#define DETOL_SQRT _mm256_sqrt_ps
#define DETOL_INTEGERS __m256i
#define DETOL_KERNELS kBaselineKernels
#include "trainer/backends/cpu/kernels_table.h"
