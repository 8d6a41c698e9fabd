#include "trainer/data/formats/picture_file.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <new>

#include "core/utf8.h"
#include "trainer/data/formats/exif.h"
#include "trainer/data/formats/png_file.h"
#include "trainer/data/formats/resize.h"

namespace detol::inline trainer {
namespace {

// The most pixels per byte of a file: Huffman codes take at least one bit for each block of 64
// pixels, of every component in a baseline file, and deflate unpacks a byte to at most 1032, of 8
// pixels each.
constexpr std::uint64_t kMostPixelsOfJpegByte = 512;
constexpr std::uint64_t kMostPixelsOfPngByte = std::uint64_t{1032} * 8;
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;  // 8192 x 8192: 200 MB and a second

tl::unexpected<std::string> wrong(std::string_view what) {
  return tl::unexpected<std::string>(printable_excerpt(what));
}

tl::expected<PictureHead, std::string> plausible(const PictureHead& head, std::size_t file_bytes) {
  if (head.height < 1 || head.width < 1) return wrong("it has no pixels");
  if (head.height > kMostPixelsOfSide || head.width > kMostPixelsOfSide)
    return wrong(fmt::format("{} x {} pixels; a side may have {}", head.height, head.width,
                             kMostPixelsOfSide));
  const std::uint64_t pixels = std::uint64_t(head.height) * std::uint64_t(head.width);
  const std::uint64_t most = head.is_jpeg ? kMostPixelsOfJpegByte : kMostPixelsOfPngByte;
  if (pixels > kMostPixels)
    return wrong(
        fmt::format("{} x {} pixels; at most {} are read", head.height, head.width, kMostPixels));
  if (pixels <= file_bytes * most) return head;
  return wrong(fmt::format("{} x {} pixels cannot be in a file of {} bytes", head.height,
                           head.width, file_bytes));
}

bool is_jpeg(PictureFile::Bytes file) {
  return file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff;
}

std::string_view text_of(PictureColour colour) {
  switch (colour) {
    case PictureColour::kGrey:
      return "grey";
    case PictureColour::kColour:
      return "colour";
    case PictureColour::kPalette:
      return "palette";
    case PictureColour::kCmyk:
      break;
  }
  return "CMYK";
}

}  // namespace

std::string kind_of(const PictureHead& head) {
  return fmt::format("{}{} {}", head.bits == 8 ? "" : fmt::format("{}-bit ", head.bits),
                     text_of(head.colour), head.is_jpeg ? "JPEG" : "PNG");
}

struct PictureFile::JpegReader {
  tjhandle handle = tjInitDecompress();

  JpegReader() {
    if (handle == nullptr) throw std::bad_alloc();
  }
  ~JpegReader() { tjDestroy(handle); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  tl::expected<PictureHead, std::string> head(Bytes file) const {
    PictureHead head;
    int subsampling = 0, colours = -1;
    const bool is_usual = tjDecompressHeader3(handle, file.data(), file.size(), &head.width,
                                              &head.height, &subsampling, &colours) == 0;
    // A subsampling that has no name here is an error there, after all else has been read.
    const bool is_read = is_usual || (subsampling < 0 && colours >= 0);
    if (!is_read) return wrong(tjGetErrorStr2(handle));
    if (colours == TJCS_GRAY) head.colour = PictureColour::kGrey;
    if (colours == TJCS_CMYK || colours == TJCS_YCCK) head.colour = PictureColour::kCmyk;
    head.orientation = orientation_of_jpeg(file);
    return head;
  }

  tl::expected<int, std::string> read(Bytes file, const PictureHead& head,
                                      std::vector<std::uint8_t>& pixels) const {
    const int format = head.colour == PictureColour::kGrey   ? TJPF_GRAY
                       : head.colour == PictureColour::kCmyk ? TJPF_CMYK
                                                             : TJPF_RGB;
    const int channels = tjPixelSize[format];
    pixels.resize(static_cast<std::size_t>(head.height) * static_cast<std::size_t>(head.width) *
                  static_cast<std::size_t>(channels));
    if (tjDecompress2(handle, file.data(), file.size(), pixels.data(), head.width, 0, head.height,
                      format, TJFLAG_STOPONWARNING) != 0)
      return wrong(tjGetErrorStr2(handle));
    return channels;
  }
};

PictureFile::PictureFile() : jpeg_(std::make_unique<JpegReader>()) {}
PictureFile::PictureFile(PictureFile&&) noexcept = default;
PictureFile::~PictureFile() = default;

tl::expected<PictureHead, std::string> PictureFile::head(Bytes file) {
  if (!is_jpeg(file) && !is_png(file)) return wrong("neither a JPEG nor a PNG file");
  auto head = is_jpeg(file) ? jpeg_->head(file) : png_head(file);
  if (!head) return head;
  if (!head->is_jpeg) head->orientation = orientation_of_png(file);
  return plausible(*head, file.size());
}

tl::expected<int, std::string> PictureFile::read(Bytes file, const PictureHead& head,
                                                 std::vector<std::uint8_t>& pixels) {
  return head.is_jpeg ? jpeg_->read(file, head, pixels) : read_png(file, pixels);
}

}  // namespace detol::inline trainer
