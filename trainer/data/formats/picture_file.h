#pragma once

// JPEG and PNG files of every kind: what their headers say, and their pixels as they are stored.
// Users of this header do not see libjpeg-turbo and libpng. Errors are unexpected texts without the
// file's name. Not thread-safe: one reader serves one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "trainer/data/formats/picture_head.h"

namespace detol::inline trainer {

// Returns "colour JPEG", "16-bit grey PNG".
std::string kind_of(const PictureHead& head);

class PictureFile {
 public:
  using Bytes = PictureBytes;

  PictureFile();
  PictureFile(PictureFile&&) noexcept;
  ~PictureFile();

  // Reads the header. Unexpected: no JPEG or PNG file, a damaged one, sizes that its bytes cannot
  // hold, a side of more than kMostPixelsOfSide.
  tl::expected<PictureHead, std::string> head(Bytes file);

  // Reads the pixels of 8 bits, height x width x channels, and returns the number of channels: 1
  // grey, 2 grey with alpha, 3 colour, 4 colour with alpha, or for a CMYK file the inks that are
  // left out (255: none of it). Of 16 bits the upper 8 are taken. Unexpected: the file is damaged.
  // REQUIRES: `head` is the file's.
  tl::expected<int, std::string> read(Bytes file, const PictureHead& head,
                                      std::vector<std::uint8_t>& pixels);

 private:
  struct JpegReader;
  std::unique_ptr<JpegReader> jpeg_;
};

}  // namespace detol::inline trainer
