#include "trainer/data/formats/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <future>
#include <system_error>
#include <utility>
#include <vector>

#include "core/usable.h"
#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/exif.h"
#include "trainer/data/formats/picture_colours.h"
#include "trainer/data/formats/picture_file.h"
#include "trainer/data/formats/resize.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kMostThreads = 16;

struct Upright {
  int height = 0;
  int width = 0;
};

Upright upright(const PictureHead& head) {
  if (exchanges_sides(head.orientation)) return {head.width, head.height};
  return {head.height, head.width};
}

}  // namespace

PictureDecoder::Bytes bytes_in(const std::string& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

struct PictureDecoder::State {
  explicit State(const PictureForm& wanted) : form(wanted), resizer(form.size, form.fit) {}

  // Decodes to `pixels`, upright and with form.channels.
  tl::expected<Upright, std::string> decode(Bytes bytes) {
    auto head = file.head(bytes);
    if (!head) return tl::unexpected(head.error());
    auto channels = file.read(bytes, *head, pixels);
    if (!channels) return tl::unexpected(channels.error());
    convert_colours(pixels, *channels, head->colour == PictureColour::kCmyk, form.channels);
    if (head->orientation != 1) {
      turned.resize(pixels.size());
      turn_upright(pixels, {head->height, head->width, form.channels}, head->orientation, turned);
      std::swap(pixels, turned);
    }
    return upright(*head);
  }

  PictureForm form;
  PictureFile file;
  std::vector<std::uint8_t> pixels, turned;
  Resizer resizer;
};

PictureDecoder::PictureDecoder(const PictureForm& form) : state_(std::make_unique<State>(form)) {}
PictureDecoder::PictureDecoder(PictureDecoder&&) noexcept = default;
PictureDecoder::~PictureDecoder() = default;

tl::expected<Shape, std::string> PictureDecoder::shape_of(Bytes file) {
  const auto head = state_->file.head(file);
  if (!head) return tl::unexpected(head.error());
  const std::int64_t side = state_->form.size;
  const Upright size = upright(*head);
  if (side > 0) return Shape{state_->form.channels, side, side};
  return Shape{state_->form.channels, size.height, size.width};
}

tl::expected<void, PictureError> PictureDecoder::decode(Bytes file, const Shape& shape,
                                                        std::span<std::uint8_t> out) {
  const auto size = state_->decode(file);
  if (!size) return tl::unexpected(PictureError{size.error()});
  const std::span<const std::uint8_t> pixels = state_->pixels;
  if (size->height == shape.height && size->width == shape.width) {
    to_planes(pixels, shape, out);
    return {};
  }
  if (state_->form.size == 0) {
    return tl::unexpected(
        PictureError{fmt::format("{} x {} pixels, but the first picture has {} x {}", size->height,
                                 size->width, shape.height, shape.width),
                     true});
  }
  state_->resizer.write({pixels, size->height, size->width, state_->form.channels}, out);
  return {};
}

std::optional<PictureDecoders::Failure> PictureDecoders::decode(std::span<const std::string> files,
                                                                const Shape& shape,
                                                                std::span<std::uint8_t> out) {
  const auto size = static_cast<std::size_t>(shape.elements());
  static const auto kProcessors = static_cast<std::size_t>(usable_cores().count);
  const std::size_t threads = std::min({files.size(), kProcessors, kMostThreads});
  while (decoders_.size() < threads) decoders_.emplace_back(form_);
  std::vector<PictureError> failures(files.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&](PictureDecoder& decoder) {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      const auto decoded = decoder.decode(bytes_in(files[i]), shape, out.subspan(i * size, size));
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
      std::ranges::find_if(failures, [](const auto& error) { return !error.what.empty(); });
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
