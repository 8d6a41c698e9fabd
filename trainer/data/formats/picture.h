#pragma once

// PictureDecoder: JPEG and PNG files as pixels of one size. Where a size S is asked for, a picture
// is scaled, its sides in proportion, until the shorter one is S, and the square in its middle is
// taken. libjpeg-turbo scales first, in steps of an eighth, as far as S allows; the rest is a
// triangle filter as wide as the pixels that become one (as Pillow's "bilinear"), in integers, so
// that the pixels are the same on every machine. Grey becomes three equal channels, and colour luma
// (ITU-R BT.601), as `channels` asks; transparency is left out. Buffers are kept: one decoder for
// all files of a set. Not thread-safe. libjpeg-turbo and libpng stay behind this header.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "encodings/network/layer.h"

namespace detol::inline trainer {

class PictureDecoder {
 public:
  using Bytes = std::span<const std::uint8_t>;

  // size: of the square, in pixels; 0: as the pictures are. channels: 1 or 3.
  PictureDecoder(int size, int channels);
  PictureDecoder(PictureDecoder&&) noexcept;
  ~PictureDecoder();

  // Returns the shape that decode() makes of a file, from its header alone. Unexpected: what is
  // wrong with it.
  tl::expected<Shape, std::string> shape_of(Bytes file);

  // C x H x W. Unexpected: the file is damaged, or its shape is another.
  // REQUIRES: `out` has the shape's size.
  tl::expected<void, std::string> decode(Bytes file, const Shape& shape,
                                         std::span<std::uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The bytes of a file that was read into a string, which must outlive them.
PictureDecoder::Bytes bytes_in(const std::string& file);

// Decodes several files at once, each on a thread of its own, up to one for each processor. What
// comes out does not depend on how many there are.
class PictureDecoders {
 public:
  PictureDecoders(int size, int channels) : size_(size), channels_(channels) {}

  struct Failure {
    std::size_t file = 0;  // the first that fails
    std::string what;
  };

  // REQUIRES: `out` holds one picture of this shape for each file.
  std::optional<Failure> decode(std::span<const std::string> files, const Shape& shape,
                                std::span<std::uint8_t> out);

 private:
  int size_, channels_;
  std::vector<PictureDecoder> decoders_;  // one for each thread
};

// True if the name ends as those of pictures do: .jpg, .jpeg, .png, in any case of letters.
bool is_picture(std::string_view name);

}  // namespace detol::inline trainer
