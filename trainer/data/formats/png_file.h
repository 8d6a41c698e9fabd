#pragma once

// PNG files, for picture_file.cpp.

#include "trainer/data/formats/picture_file.h"

namespace detol::inline trainer {

bool is_png(PictureFile::Bytes file);

// As PictureFile::head() and read(), without the orientation and checks of the size.
tl::expected<PictureHead, std::string> png_head(PictureFile::Bytes file);
tl::expected<int, std::string> read_png(PictureFile::Bytes file, std::vector<std::uint8_t>& pixels);

}  // namespace detol::inline trainer
