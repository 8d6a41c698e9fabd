#include "trainer/data/formats/picture.h"

#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"
#include "tests/trainer/picture_writer.h"

namespace detol::fuzz {

// The first byte selects the options: resized to a square or not and how, grey or colour.
void fuzz_picture(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto first = static_cast<unsigned char>(bytes.front());
  PictureDecoder decoder({.size = first / 2 % 2 == 0 ? 0 : 5,
                          .fit = picture_fits()[first / 4 % 3].fit,
                          .channels = first % 2 == 0 ? 3 : 1});
  const PictureDecoder::Bytes file(reinterpret_cast<const std::uint8_t*>(bytes.data()) + 1,
                                   bytes.size() - 1);
  const auto shape = decoder.shape_of(file);
  if (!shape) return promise_one_line({ErrorCode::kInput, shape.error()}, ErrorCode::kInput);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape->elements()));
  const auto decoded = decoder.decode(file, *shape, pixels);
  if (!decoded) promise_one_line({ErrorCode::kInput, decoded.error().what}, ErrorCode::kInput);
}

std::vector<std::string> picture_seeds() {
  using namespace testing_support;
  std::vector<std::string> seeds;
  for (const std::string& file :
       {jpeg_of(plain(8, 8, {100})), jpeg_of(plain(16, 9, {10, 200, 30})),
        png_of(plain(8, 8, {100})), png_of(plain(5, 9, {1, 2})), png_of(plain(8, 8, {1, 2, 3})),
        png_of(plain(3, 3, {1, 2, 3, 4})), jpeg_of(plain(8, 8, {1, 2, 3, 4})),
        with_exif(jpeg_of(plain(8, 16, {9})), exif_of(6, true)),
        with_exif(png_of(plain(3, 5, {9})), exif_of(8, false)),
        png_of_kind({.bits = 4, .interlace = PNG_INTERLACE_ADAM7, .width = 2, .row = {0x5a}})}) {
    for (char first = 0; first < 12; ++first) seeds.push_back(first + file);
  }
  return seeds;
}

}  // namespace detol::fuzz
