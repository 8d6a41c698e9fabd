#include "trainer/data/formats/picture.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "core/utf8.h"
#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/resize.h"

namespace detol::inline trainer {
namespace {

// The most pixels per byte of a file: Huffman codes take at least one bit for each block of 64
// pixels, of every component in a baseline file, and deflate unpacks a byte to at most 1032, of 8
// pixels each.
constexpr std::uint64_t kMostPixelsOfJpegByte = 512;
constexpr std::uint64_t kMostPixelsOfPngByte = std::uint64_t{1032} * 8;
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 28;

constexpr std::size_t kMostThreads = 16;

tl::unexpected<std::string> wrong(std::string_view what) {
  return tl::unexpected<std::string>(printable_excerpt(what));
}

struct Size {
  int height = 0;
  int width = 0;
};

tl::expected<Size, std::string> plausible(Size size, std::size_t file_bytes, std::uint64_t most) {
  if (size.height < 1 || size.width < 1) return wrong("it has no pixels");
  const std::uint64_t pixels = std::uint64_t(size.height) * std::uint64_t(size.width);
  if (pixels <= file_bytes * most && pixels <= kMostPixels) return size;
  return wrong(fmt::format("{} x {} pixels cannot be in a file of {} bytes", size.height,
                           size.width, file_bytes));
}

bool is_jpeg(PictureDecoder::Bytes file) {
  return file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff;
}

bool is_png(PictureDecoder::Bytes file) {
  return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0;
}

// PngReader reads a file with libpng and frees what libpng allocates.
class PngReader {
 public:
  explicit PngReader(PictureDecoder::Bytes file) {
    image_.version = PNG_IMAGE_VERSION;
    is_open_ = png_image_begin_read_from_memory(&image_, file.data(), file.size()) != 0;
  }
  ~PngReader() { png_image_free(&image_); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool is_open() const { return is_open_; }
  Size size() const { return {static_cast<int>(image_.height), static_cast<int>(image_.width)}; }
  tl::unexpected<std::string> error() const { return wrong(image_.message); }

  // Reads 8-bit pixels of 1 to 4 channels: grey or colour, with transparency or without.
  bool read(std::vector<std::uint8_t>& pixels, std::size_t& channels) {
    image_.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    channels = PNG_IMAGE_PIXEL_CHANNELS(image_.format);
    pixels.resize(PNG_IMAGE_SIZE(image_));
    return png_image_finish_read(&image_, nullptr, pixels.data(), 0, nullptr) != 0;
  }

 private:
  png_image image_{};
  bool is_open_ = false;
};

// Converts each pixel to the wanted number of channels.
void change_channels(std::span<const std::uint8_t> from, std::size_t from_channels,
                     std::span<std::uint8_t> to, std::size_t channels) {
  const bool is_grey = from_channels < 3;
  for (std::size_t i = 0; i * channels < to.size(); ++i) {
    const std::uint8_t* in = &from[i * from_channels];
    std::uint8_t* out = &to[i * channels];
    if (is_grey) {
      std::fill_n(out, channels, in[0]);
    } else if (channels == 3) {
      std::copy_n(in, 3, out);
    } else {
      out[0] = static_cast<std::uint8_t>((77 * in[0] + 150 * in[1] + 29 * in[2] + 128) >> 8);
    }
  }
}

}  // namespace

PictureDecoder::Bytes bytes_in(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

struct PictureDecoder::State {
  int size, channels;
  tjhandle jpeg = tjInitDecompress();
  std::vector<std::uint8_t> file_pixels, pixels;
  Resizer resizer;

  State(int side, int channel_count) : size(side), channels(channel_count) {
    if (jpeg == nullptr) throw std::bad_alloc();
  }
  ~State() { tjDestroy(jpeg); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  tl::expected<Size, std::string> jpeg_size(Bytes file) const {
    Size size_there;
    int subsampling = 0, colours = 0;
    if (tjDecompressHeader3(jpeg, file.data(), file.size(), &size_there.width, &size_there.height,
                            &subsampling, &colours) != 0)
      return wrong(tjGetErrorStr2(jpeg));
    if (colours == TJCS_CMYK || colours == TJCS_YCCK)
      return wrong("its colours are CMYK; convert it to RGB");
    return plausible(size_there, file.size(), kMostPixelsOfJpegByte);
  }

  // Returns the smallest size to which libjpeg-turbo can scale that is large enough.
  Size scaled(Size there) const {
    if (size == 0) return there;
    int count = 0;
    const tjscalingfactor* factors = tjGetScalingFactors(&count);
    Size best = there;
    for (const tjscalingfactor& factor : std::span(factors, static_cast<std::size_t>(count))) {
      const Size one{TJSCALED(there.height, factor), TJSCALED(there.width, factor)};
      const bool is_enough = std::min(one.height, one.width) >= size;
      if (is_enough && one.width <= best.width && one.height <= best.height) best = one;
    }
    return best;
  }

  tl::expected<Size, std::string> decode_jpeg(Bytes file) {
    auto there = jpeg_size(file);
    if (!there) return there;
    const Size to = scaled(*there);
    pixels.resize(static_cast<std::size_t>(to.height) * static_cast<std::size_t>(to.width) *
                  static_cast<std::size_t>(channels));
    if (tjDecompress2(jpeg, file.data(), file.size(), pixels.data(), to.width, 0, to.height,
                      channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_STOPONWARNING) != 0)
      return wrong(tjGetErrorStr2(jpeg));
    return to;
  }

  tl::expected<Size, std::string> decode_png(Bytes file) {
    PngReader reader(file);
    if (!reader.is_open()) return reader.error();
    auto there = plausible(reader.size(), file.size(), kMostPixelsOfPngByte);
    if (!there) return there;
    std::size_t file_channels = 0;
    if (!reader.read(file_pixels, file_channels)) return reader.error();
    pixels.resize(file_pixels.size() / file_channels * static_cast<std::size_t>(channels));
    change_channels(file_pixels, file_channels, pixels, static_cast<std::size_t>(channels));
    return there;
  }
};

PictureDecoder::PictureDecoder(int size, int channels)
    : state_(std::make_unique<State>(size, channels)) {}
PictureDecoder::PictureDecoder(PictureDecoder&&) noexcept = default;
PictureDecoder::~PictureDecoder() = default;

tl::expected<Shape, std::string> PictureDecoder::shape_of(Bytes file) {
  tl::expected<Size, std::string> size;
  if (is_jpeg(file)) {
    size = state_->jpeg_size(file);
  } else if (is_png(file)) {
    const PngReader reader(file);
    if (!reader.is_open()) return reader.error();
    size = plausible(reader.size(), file.size(), kMostPixelsOfPngByte);
  } else {
    return wrong("neither a JPEG nor a PNG file");
  }
  if (!size) return tl::unexpected(size.error());
  const std::int64_t side = state_->size;
  if (side > 0) return Shape{state_->channels, side, side};
  return Shape{state_->channels, size->height, size->width};
}

tl::expected<void, std::string> PictureDecoder::decode(Bytes file, const Shape& shape,
                                                       std::span<std::uint8_t> out) {
  if (!is_jpeg(file) && !is_png(file)) return wrong("neither a JPEG nor a PNG file");
  const auto size = is_jpeg(file) ? state_->decode_jpeg(file) : state_->decode_png(file);
  if (!size) return tl::unexpected(size.error());
  const std::span<const std::uint8_t> pixels = state_->pixels;
  if (size->height == shape.height && size->width == shape.width) {
    to_planes(pixels, shape, out);
    return {};
  }
  if (state_->size == 0) {
    return wrong(
        fmt::format("{} x {} pixels, but the first picture has {} x {}; say with data.size "
                    "how large all are to be made",
                    size->height, size->width, shape.height, shape.width));
  }
  state_->resizer.write({pixels, size->height, size->width, state_->channels}, state_->size, out);
  return {};
}

std::optional<PictureDecoders::Failure> PictureDecoders::decode(std::span<const std::string> files,
                                                                const Shape& shape,
                                                                std::span<std::uint8_t> out) {
  const auto size = static_cast<std::size_t>(shape.elements());
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t threads = std::min({files.size(), processors, kMostThreads});
  while (decoders_.size() < threads) decoders_.emplace_back(size_, channels_);
  std::vector<std::string> failures(files.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&](PictureDecoder& decoder) {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      const PictureDecoder::Bytes file(reinterpret_cast<const std::uint8_t*>(files[i].data()),
                                       files[i].size());
      const auto decoded = decoder.decode(file, shape, out.subspan(i * size, size));
      if (!decoded) failures[i] = decoded.error();
    }
  };
  std::vector<std::future<void>> helpers;
  try {
    for (std::size_t i = 1; i < threads; ++i)
      helpers.push_back(std::async(std::launch::async, work, std::ref(decoders_[i])));
  } catch (const std::system_error&) {  // no more threads: the started ones do all the work
  }
  if (!files.empty()) work(decoders_.front());
  for (std::future<void>& helper : helpers) helper.get();
  const auto failed =
      std::ranges::find_if(failures, [](const auto& what) { return !what.empty(); });
  if (failed == failures.end()) return std::nullopt;
  return Failure{static_cast<std::size_t>(failed - failures.begin()), *failed};
}

bool is_picture(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(name.substr(dot));
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

}  // namespace detol::inline trainer
