#pragma once

// PictureDecoder: decodes JPEG and PNG files to pixels of one size. If a size S is set, a picture
// is scaled, its sides in proportion, until the shorter one is S, and the square in its middle is
// cropped. libjpeg-turbo scales first, in steps of an eighth, as far as S allows; the rest is a
// triangle filter over the pixels that are merged into one (as Pillow's "bilinear"), in integers,
// so that the pixels are the same on every machine. If `channels` needs it, grey becomes three
// equal channels, and colour becomes luma (ITU-R BT.601); transparency is ignored. One decoder
// serves all files of a set and reuses its buffers. Not thread-safe. Users of this header do not
// see libjpeg-turbo and libpng.

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

  // size: side of the square in pixels; 0: the pictures' own size. channels: 1 or 3.
  PictureDecoder(int size, int channels);
  PictureDecoder(PictureDecoder&&) noexcept;
  ~PictureDecoder();

  // Returns the shape that decode() gives a file, from its header only. Unexpected: what is wrong
  // with the file.
  tl::expected<Shape, std::string> shape_of(Bytes file);

  // Writes the pixels, C x H x W. Unexpected: the file is damaged, or has another shape. REQUIRES:
  // `out` has the shape's size.
  tl::expected<void, std::string> decode(Bytes file, const Shape& shape,
                                         std::span<std::uint8_t> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the bytes of a file that was read into a string, which must outlive them.
PictureDecoder::Bytes bytes_in(const std::string& file);

// Decodes several files in parallel, by up to 16 threads and one per processor. The pixels do not
// depend on the number of threads.
class PictureDecoders {
 public:
  PictureDecoders(int size, int channels) : size_(size), channels_(channels) {}

  struct Failure {
    std::size_t file = 0;  // index of the first that failed
    std::string what;
  };

  // Returns the first failure, if any. REQUIRES: `out` holds one picture of this shape for each
  // file.
  std::optional<Failure> decode(std::span<const std::string> files, const Shape& shape,
                                std::span<std::uint8_t> out);

 private:
  int size_, channels_;
  std::vector<PictureDecoder> decoders_;  // one for each thread
};

// Returns whether the name ends in .jpg, .jpeg or .png, in upper or lower case.
bool is_picture(std::string_view name);

}  // namespace detol::inline trainer
