#pragma once

// PNG files, for picture_file.cpp.

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trainer/data/formats/picture_head.h"

namespace detol::inline trainer {

bool is_png(PictureBytes file);

// As PictureFile::head() and read(), without the orientation and checks of the size.
tl::expected<PictureHead, std::string> png_head(PictureBytes file);
tl::expected<int, std::string> read_png(PictureBytes file, std::vector<std::uint8_t>& pixels);

}  // namespace detol::inline trainer
