#include "trainer/data/formats/picture_colours.h"

#include <algorithm>
#include <array>

namespace detol::inline trainer {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr std::uint8_t on_white(unsigned value, unsigned alpha) {
  return static_cast<std::uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

constexpr std::uint8_t printed(unsigned value, unsigned black) {
  const unsigned ink = (255 - value) * black + 128;
  return static_cast<std::uint8_t>(black - (((ink >> 8) + ink) >> 8));
}

constexpr std::uint8_t grey(const Colour& colour) {
  return static_cast<std::uint8_t>(
      (19595u * colour[0] + 38470u * colour[1] + 7471u * colour[2] + (1u << 15)) >> 16);
}

struct Grey {
  static constexpr std::size_t kChannels = 1;
  static Colour colour(const std::uint8_t* in) { return {in[0], in[0], in[0]}; }
};
struct GreyAlpha {
  static constexpr std::size_t kChannels = 2;
  static Colour colour(const std::uint8_t* in) {
    const std::uint8_t value = on_white(in[0], in[1]);
    return {value, value, value};
  }
};
struct Rgb {
  static constexpr std::size_t kChannels = 3;
  static Colour colour(const std::uint8_t* in) { return {in[0], in[1], in[2]}; }
};
struct RgbAlpha {
  static constexpr std::size_t kChannels = 4;
  static Colour colour(const std::uint8_t* in) {
    return {on_white(in[0], in[3]), on_white(in[1], in[3]), on_white(in[2], in[3])};
  }
};
struct Cmyk {
  static constexpr std::size_t kChannels = 4;
  static Colour colour(const std::uint8_t* in) {
    return {printed(in[0], in[3]), printed(in[1], in[3]), printed(in[2], in[3])};
  }
};

template <typename From>
void convert(const std::vector<std::uint8_t>& pixels, std::size_t channels, std::uint8_t* out) {
  for (std::size_t i = 0; i < pixels.size(); i += From::kChannels) {
    const Colour colour = From::colour(&pixels[i]);
    if (channels == 1)
      *out++ = grey(colour);
    else
      out = std::copy(colour.begin(), colour.end(), out);
  }
}

}  // namespace

void convert_colours(std::vector<std::uint8_t>& pixels, int from, bool is_cmyk, int to) {
  if (from == to) return;
  constexpr std::array kConversions = {&convert<Grey>, &convert<GreyAlpha>, &convert<Rgb>,
                                       &convert<RgbAlpha>};
  const auto channels = static_cast<std::size_t>(to);
  std::vector<std::uint8_t> out(pixels.size() / static_cast<std::size_t>(from) * channels);
  const auto conversion =
      is_cmyk ? &convert<Cmyk> : kConversions[static_cast<std::size_t>(from) - 1];
  conversion(pixels, channels, out.data());
  pixels = std::move(out);
}

}  // namespace detol::inline trainer
