#pragma once

// PictureDecoder: decodes JPEG and PNG files to pixels of one form (trainer/data/picture_form.h):
// every pixel at full resolution (picture_file.h), its colours as picture_colours.h says, upright
// (exif.h), then the square (resize.h). One decoder serves all files of a set and reuses its
// buffers. Not thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "encodings/network/layer.h"
#include "encodings/study/study_config.h"
#include "trainer/data/picture_form.h"

namespace detol::inline trainer {

inline PictureForm form_of(const DataConfig& config) {
  return {config.size, config.fit, config.channels};
}

// PictureError: what is wrong with a file; its name is the caller's to say.
struct PictureError {
  std::string what;
  bool has_other_size = false;  // and nothing else is wrong with it
};

// The remedy where pictures differ in size.
inline constexpr std::string_view kSayASize =
    "say with data.size how large all are to be made, for example data.size: 64";

class PictureDecoder {
 public:
  using Bytes = std::span<const std::uint8_t>;

  explicit PictureDecoder(const PictureForm& form);
  PictureDecoder(PictureDecoder&&) noexcept;
  ~PictureDecoder();

  // Returns the shape that decode() gives a file, from its header only. Unexpected: what is wrong
  // with the file.
  tl::expected<Shape, std::string> shape_of(Bytes file);

  // Writes the pixels, C x H x W. Unexpected: the file is damaged, or has another shape. REQUIRES:
  // `out` has the shape's size.
  tl::expected<void, PictureError> decode(Bytes file, const Shape& shape,
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
  explicit PictureDecoders(const PictureForm& form) : form_(form) {}

  struct Failure {
    std::size_t file = 0;  // index of the first that failed
    PictureError error;
  };

  // Returns the first failure, if any. REQUIRES: `out` holds one picture of this shape for each
  // file.
  std::optional<Failure> decode(std::span<const std::string> files, const Shape& shape,
                                std::span<std::uint8_t> out);

 private:
  PictureForm form_;
  std::vector<PictureDecoder> decoders_;  // one for each thread
};

// Returns whether the name ends in .jpg, .jpeg or .png, in upper or lower case.
bool is_picture(std::string_view name);

}  // namespace detol::inline trainer
