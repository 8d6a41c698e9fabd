#include "trainer/data/formats/hdf5_data.h"

namespace detol::inline trainer {

std::span<const FormatRow> hdf5_formats() {
  return {};
}

}  // namespace detol::inline trainer
