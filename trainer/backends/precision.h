#pragma once

// Precision: the number format in which a network is trained (training.precision of a space file).
//
//   fp32  32 bits everywhere
//   tf32  tensors of 32 bits, whose products are rounded to 10 bits of mantissa first
//   bf16  tensors and products of 16 bits (8 of exponent, 7 of mantissa); sums, statistics, the
//         weights that the optimiser changes, and all of the optimiser in 32

#include "core/result.h"
#include "encodings/study/recipe.h"

namespace detol::inline trainer {

// Called by backends that support only fp32. Errors (kInput): another precision, an unknown word.
Result<void> check_fp32(const Recipe& recipe);

}  // namespace detol::inline trainer
