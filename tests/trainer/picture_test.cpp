// Pictures of every kind become the pixels that people see. The expected colours are Pillow's.

#include "trainer/data/formats/picture.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/formats/exif.h"

namespace detol {
namespace {

using namespace testing_support;
using PixelBytes = std::vector<std::uint8_t>;

// Decodes a file; the pixels are C x H x W.
PixelBytes decoded(const std::string& file, int channels = 3) {
  PictureDecoder decoder(PictureForm{.channels = channels});
  const auto shape = decoder.shape_of(bytes_in(file));
  EXPECT_TRUE(shape) << shape.error();
  if (!shape) return {};
  PixelBytes pixels(static_cast<std::size_t>(shape->elements()));
  const auto done = decoder.decode(bytes_in(file), *shape, pixels);
  EXPECT_TRUE(done) << done.error().what;
  return pixels;
}

// 2 x 3 grey pixels:  10 20 30
//                     40 50 60
const Pixels kSix{2, 3, 1, {10, 20, 30, 40, 50, 60}};

// The six pixels as they are seen, by orientation; from 5 on three rows of two.
const PixelBytes kSeen[] = {{10, 20, 30, 40, 50, 60}, {30, 20, 10, 60, 50, 40},
                            {60, 50, 40, 30, 20, 10}, {40, 50, 60, 10, 20, 30},
                            {10, 40, 20, 50, 30, 60}, {40, 10, 50, 20, 60, 30},
                            {60, 30, 50, 20, 40, 10}, {30, 60, 20, 50, 10, 40}};

TEST(Pictures, AreUprightWhateverTheirOrientation) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool is_little : {false, true}) {
      for (const int type : {3, 4}) {
        const std::string file = with_exif(png_of(kSix), exif_of(orientation, is_little, type));
        EXPECT_EQ(decoded(file, 1), kSeen[orientation - 1]) << orientation;
      }
    }
  }
}

TEST(Pictures, OfCamerasAreUprightToo) {
  const std::string file = jpeg_of(plain(16, 8, {10, 200, 30}));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string turned = with_exif(file, exif_of(orientation, true));
    EXPECT_EQ(orientation_of_jpeg(bytes_in(turned)), orientation);
    const Shape seen = PictureDecoder(PictureForm{}).shape_of(bytes_in(turned)).value();
    EXPECT_EQ(seen, orientation < 5 ? (Shape{3, 16, 8}) : (Shape{3, 8, 16}));
    EXPECT_EQ(decoded(turned),
              decoded(orientation < 5 ? file : jpeg_of(plain(8, 16, {10, 200, 30}))));
  }
}

TEST(Pictures, WithDamagedExifAreUpright) {
  const std::string good = exif_of(6, true);
  for (std::size_t length = 0; length < 30; ++length)
    EXPECT_EQ(decoded(with_exif(png_of(kSix), good.substr(0, length)), 1), kSeen[0]) << length;
  for (const int orientation : {0, 9, 255, 65535})
    EXPECT_EQ(decoded(with_exif(png_of(kSix), exif_of(orientation, true)), 1), kSeen[0]);
  EXPECT_EQ(decoded(with_exif(png_of(kSix), exif_of(6, true, 5)), 1), kSeen[0]) << "a fraction";
  std::string wrong_sum = with_exif(png_of(kSix), good);
  wrong_sum[wrong_sum.size() - 13] ^= 1;
  EXPECT_EQ(decoded(wrong_sum, 1), kSeen[0]);
}

TEST(Pictures, WithTransparencyLieOnWhite) {
  EXPECT_EQ(decoded(png_of({1, 3, 4, {200, 100, 0, 255, 0, 0, 0, 0, 200, 100, 0, 51}})),
            (PixelBytes{200, 255, 244, 100, 255, 224, 0, 255, 204}));
  EXPECT_EQ(decoded(png_of({1, 2, 2, {7, 255, 7, 0}}), 1), (PixelBytes{7, 255}));
}

TEST(Pictures, OfColourBecomeGreyByTheirLuma) {
  EXPECT_EQ(decoded(png_of(plain(1, 1, {200, 150, 100})), 1), PixelBytes{159});
  EXPECT_EQ(decoded(png_of(plain(1, 1, {255, 0, 0})), 1), PixelBytes{76});
  EXPECT_EQ(decoded(png_of(plain(1, 1, {0, 255, 0})), 1), PixelBytes{150});
  EXPECT_EQ(decoded(png_of(plain(1, 1, {0, 0, 255})), 1), PixelBytes{29});
}

TEST(Pictures, OfGreyHaveThreeEqualChannels) {
  for (const std::string& file : {png_of(plain(1, 1, {99})), jpeg_of(plain(8, 8, {99}))}) {
    const PixelBytes pixels = decoded(file);
    EXPECT_EQ(pixels[0], 99);
    EXPECT_EQ(pixels[pixels.size() / 3], 99);
    EXPECT_EQ(pixels.back(), 99);
  }
}

TEST(Pictures, OfInksBecomeColours) {
  // Inks that are left out: white paper, half of all black ink, all yellow.
  const PixelBytes inks[] = {{255, 255, 255, 255}, {255, 255, 255, 128}, {255, 255, 0, 255}};
  const PixelBytes colours[] = {{255, 255, 255}, {128, 128, 128}, {255, 255, 0}};
  for (std::size_t i = 0; i < 3; ++i) {
    const PixelBytes pixels = decoded(jpeg_of(plain(8, 8, inks[i]), 100));
    for (std::size_t channel = 0; channel < 3; ++channel)
      EXPECT_NEAR(pixels[channel * 64], colours[i][channel], 3) << i << " " << channel;
  }
}

TEST(Pictures, OfEveryPngKindAreRead) {
  struct Kind {
    int type, bits;
    PixelBytes row;            // of four pixels, as PNG stores them
    PixelBytes colour, clear;  // a palette, and its transparency or the transparent colour
    PixelBytes expected;       // 3 x 1 x 4
  };
  const Kind kinds[] = {
      {PNG_COLOR_TYPE_GRAY, 1, {0x50}, {}, {}, {0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255}},
      {PNG_COLOR_TYPE_GRAY, 2, {0x1b}, {}, {}, {0, 85, 170, 255, 0, 85, 170, 255, 0, 85, 170, 255}},
      {PNG_COLOR_TYPE_GRAY,
       4,
       {0x01, 0x2f},
       {},
       {},
       {0, 17, 34, 255, 0, 17, 34, 255, 0, 17, 34, 255}},
      {PNG_COLOR_TYPE_GRAY,
       16,
       {9, 255, 10, 0, 11, 1, 12, 2},
       {},
       {},
       {9, 10, 11, 12, 9, 10, 11, 12, 9, 10, 11, 12}},
      {PNG_COLOR_TYPE_PALETTE,
       1,
       {0x50},
       {1, 2, 3, 4, 5, 6},
       {},
       {1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6}},
      {PNG_COLOR_TYPE_PALETTE,
       8,
       {0, 1, 1, 0},
       {1, 2, 3, 4, 5, 6},
       {0, 255},
       {255, 4, 4, 255, 255, 5, 5, 255, 255, 6, 6, 255}},
      {PNG_COLOR_TYPE_GRAY,
       8,
       {7, 8, 7, 9},
       {},
       {7},
       {255, 8, 255, 9, 255, 8, 255, 9, 255, 8, 255, 9}},
  };
  for (const Kind& kind : kinds) {
    for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
      const std::string file = png_of_kind({.type = kind.type,
                                            .bits = kind.bits,
                                            .interlace = interlace,
                                            .width = 4,
                                            .row = kind.row,
                                            .palette = kind.colour,
                                            .clear = kind.clear});
      EXPECT_EQ(decoded(file), kind.expected)
          << "type " << kind.type << ", " << kind.bits << " bits";
    }
  }
}

TEST(Pictures, OfProgressiveJpegAreRead) {
  const std::string file = jpeg_of(plain(16, 16, {10, 200, 30}), 95, TJFLAG_PROGRESSIVE);
  EXPECT_EQ(decoded(file), decoded(jpeg_of(plain(16, 16, {10, 200, 30}), 95)));
}

TEST(Pictures, OfEverySizeBecomeTheSquare) {
  PictureDecoder decoder({.size = 6, .fit = PictureFit::kPad});
  const std::string file = with_exif(png_of(plain(4, 12, {9, 9, 9})), exif_of(6, true));
  const Shape shape = decoder.shape_of(bytes_in(file)).value();
  ASSERT_EQ(shape, (Shape{3, 6, 6}));
  PixelBytes pixels(108);
  ASSERT_TRUE(decoder.decode(bytes_in(file), shape, pixels));
  EXPECT_EQ(PixelBytes(pixels.begin(), pixels.begin() + 6), (PixelBytes{0, 0, 9, 9, 0, 0}));
}

TEST(Pictures, OfMoreThan64MillionPixelsAreRefusedByTheirHead) {
  std::string file = jpeg_of(plain(16, 16, {9}));
  const std::size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\x23\x28\x23\x28");  // 9000 x 9000
  const auto shape = PictureDecoder(PictureForm{}).shape_of(bytes_in(file));
  ASSERT_FALSE(shape);
  EXPECT_NE(shape.error().find("9000 x 9000 pixels; at most 67108864"), std::string::npos)
      << shape.error();
}

TEST(Pictures, TooLongForTheResizerAreRefused) {
  const std::string file = png_of(plain(1, 65536, {9}));
  const auto shape = PictureDecoder(PictureForm{}).shape_of(bytes_in(file));
  ASSERT_FALSE(shape);
  EXPECT_NE(shape.error().find("65536"), std::string::npos) << shape.error();
}

}  // namespace
}  // namespace detol
