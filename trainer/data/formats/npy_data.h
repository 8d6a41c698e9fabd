#pragma once

// The data format `npy`: NumPy's arrays, in a folder of .npy files (plain or gzip) or in one .npz
// file, by their names (arrays.h).

#include "core/result.h"
#include "trainer/data/samples.h"

namespace detol::inline trainer {

Result<Found> open_npy(const DataConfig& config);

}  // namespace detol::inline trainer
