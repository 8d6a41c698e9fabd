#include "trainer/data/formats/png_file.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/utf8.h"

namespace detol::inline trainer {
namespace {

// PngReader reads a file with libpng, which reports an error by a jump out of its functions: only
// the steps below call them, and no step has a variable with a destructor.
class PngReader {
 public:
  explicit PngReader(PictureBytes file) : left_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::fail, &PngReader::warn);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // The steps of reading, in their order; false after an error.
  bool read_head() { return guarded(&PngReader::head_step); }
  bool choose_pixels() { return guarded(&PngReader::choose_step); }
  bool read_rows(png_bytepp rows) {
    rows_ = rows;
    return guarded(&PngReader::rows_step);
  }

  tl::unexpected<std::string> error() const {
    return tl::unexpected(printable_excerpt(message_.data()));
  }
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }

 private:
  bool guarded(void (PngReader::*step)()) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    (this->*step)();
    return true;
  }

  void head_step() {
    png_set_read_fn(png_, this, &PngReader::give);
    png_read_info(png_, info_);
  }

  // Palettes and few bits are expanded, a transparent colour becomes alpha, gamma is ignored.
  void choose_step() {
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  void rows_step() { png_read_image(png_, rows_); }

  static void give(png_structp png, png_bytep to, png_size_t count) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.left_.size()) png_error(png, "the file ends too early");
    std::copy_n(self.left_.data(), count, to);
    self.left_ = self.left_.subspan(count);
  }

  [[noreturn]] static void fail(png_structp png, png_const_charp what) {
    auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self.message_.data(), what, self.message_.size() - 1);
    png_longjmp(png, 1);
  }

  static void warn(png_structp, png_const_charp) {}

  PictureBytes left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  png_bytepp rows_ = nullptr;
  std::array<char, 200> message_{};
};

PictureColour colour_of(int type) {
  if (type == PNG_COLOR_TYPE_PALETTE) return PictureColour::kPalette;
  return (type & PNG_COLOR_MASK_COLOR) != 0 ? PictureColour::kColour : PictureColour::kGrey;
}

}  // namespace

bool is_png(PictureBytes file) {
  return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0;
}

tl::expected<PictureHead, std::string> png_head(PictureBytes file) {
  PngReader reader(file);
  if (!reader.read_head()) return reader.error();
  const int type = png_get_color_type(reader.png(), reader.info());
  const bool has_clear_colour = png_get_valid(reader.png(), reader.info(), PNG_INFO_tRNS) != 0;
  return PictureHead{.is_jpeg = false,
                     .height = static_cast<int>(png_get_image_height(reader.png(), reader.info())),
                     .width = static_cast<int>(png_get_image_width(reader.png(), reader.info())),
                     .colour = colour_of(type),
                     .bits = png_get_bit_depth(reader.png(), reader.info()),
                     .has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_clear_colour};
}

tl::expected<int, std::string> read_png(PictureBytes file, std::vector<std::uint8_t>& pixels) {
  PngReader reader(file);
  if (!reader.read_head() || !reader.choose_pixels()) return reader.error();
  const std::size_t row_bytes = png_get_rowbytes(reader.png(), reader.info());
  std::vector<png_bytep> rows(png_get_image_height(reader.png(), reader.info()));
  pixels.resize(rows.size() * row_bytes);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = &pixels[y * row_bytes];
  if (!reader.read_rows(rows.data())) return reader.error();
  return png_get_channels(reader.png(), reader.info());
}

}  // namespace detol::inline trainer
