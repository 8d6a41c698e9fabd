#include "trainer/data/formats/hdf5_data.h"

namespace detol {

std::span<const FormatRow> hdf5_formats() {
  return {};
}

}  // namespace detol
