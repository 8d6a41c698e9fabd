#pragma once

// The data format `hdf5`: arrays of one HDF5 file, by their names (arrays.h), which may lead
// through groups: `split/images`. It exists only if CMake found the library: then hdf5_data.cpp is
// compiled, else no_hdf5.cpp.

#include <span>

#include "trainer/data/formats/format.h"

namespace detol::inline trainer {

// Returns the format's row, or none.
std::span<const FormatRow> hdf5_formats();

}  // namespace detol::inline trainer
