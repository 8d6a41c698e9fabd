#include "tests/support/cuda/convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace detol::emulated {
namespace {

// Returns the value's bits, rounded to clear the last `bits` of them. REQUIRES: not NaN.
std::uint32_t rounded_bits(float value, int bits) {
  const auto is = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1U << (bits - 1)) - 1, odd = is >> bits & 1;
  return (is + half + odd) >> bits << bits;
}

template <typename Real>
std::vector<Real> read(const Convolution& c, const void* from, std::int64_t count) {
  std::vector<Real> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = c.type == Number::kFloat
                            ? static_cast<const float*>(from)[i]
                            : from_bfloat16(static_cast<const std::uint16_t*>(from)[i]);
    values[i] = static_cast<Real>(c.rounds_inputs ? to_tf32(value) : value);
  }
  return values;
}

template <typename Real>
void write(const Convolution& c, const std::vector<Real>& values, void* to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (c.type == Number::kFloat)
      static_cast<float*>(to)[i] = value;
    else
      static_cast<std::uint16_t*>(to)[i] = to_bfloat16(value);
  }
}

// Meeting: positions of x and y that a tap of the window connects, as offsets into the tensors.
struct Meeting {
  std::int64_t x = 0, y = 0, tap = 0;
};

std::vector<Meeting> meetings(const Convolution& c) {
  std::vector<Meeting> all;
  std::int64_t y = 0;
  for (std::int64_t n = 0; n < c.images; ++n) {
    for (std::int64_t p = 0; p < c.out_height; ++p) {
      for (std::int64_t q = 0; q < c.out_width; ++q, y += c.outputs) {
        for (std::int64_t r = 0; r < c.kernel_height; ++r) {
          const std::int64_t h = p * c.stride_down + r * c.dilation_down - c.above;
          if (h < 0 || h >= c.height) continue;
          for (std::int64_t s = 0; s < c.kernel_width; ++s) {
            const std::int64_t at = q * c.stride_right + s * c.dilation_right - c.beside;
            if (at < 0 || at >= c.width) continue;
            all.push_back(
                {((n * c.height + h) * c.width + at) * c.inputs, y, r * c.kernel_width + s});
          }
        }
      }
    }
  }
  return all;
}

// Returns the meetings sorted by `member`, cached for the next convolution of the same shape.
const std::vector<Meeting>& meetings_by(std::int64_t Meeting::*member, const Convolution& c) {
  using Key = std::array<std::int64_t, 15>;
  struct Kept {
    std::map<Key, std::vector<Meeting>> by_x, by_y, by_tap;
  };
  static thread_local Kept kept;
  auto& known = member == &Meeting::x ? kept.by_x : member == &Meeting::y ? kept.by_y : kept.by_tap;
  const Key key = {c.images,        c.inputs,       c.height,        c.width,
                   c.outputs,       c.out_height,   c.out_width,     c.above,
                   c.beside,        c.stride_down,  c.stride_right,  c.dilation_down,
                   c.kernel_height, c.kernel_width, c.dilation_right};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  constexpr std::size_t kMost = 50;
  if (known.size() == kMost) known.clear();
  std::vector<Meeting> all = meetings(c);
  std::ranges::stable_sort(all, {}, member);
  return known.emplace(key, std::move(all)).first->second;
}

// One term of a sum of vectors: factor times a row.
template <typename Real>
struct Term {
  const Real *factor, *row;
};

// out[0 .. block) = the sum of the terms; the sums stay in registers.
template <int block, typename Real, typename ForTerms>
void sum_block(Real* out, std::int64_t at, const ForTerms& for_terms) {
  Real sums[block] = {};
  for_terms([&](const Term<Real>& term) {
    for (int i = 0; i < block; ++i) sums[i] += *term.factor * term.row[at + i];
  });
  for (int i = 0; i < block; ++i) out[at + i] = sums[i];
}

template <typename Real, typename ForTerms>
void sum_rows(Real* out, std::int64_t length, const ForTerms& for_terms) {
  std::int64_t at = 0;
  for (; at + 16 <= length; at += 16) sum_block<16>(out, at, for_terms);
  for (; at + 8 <= length; at += 8) sum_block<8>(out, at, for_terms);
  for (; at < length; ++at) sum_block<1>(out, at, for_terms);
}

// w[tap][group][from][to], where `to` are the outputs (forward) or the inputs (data) of a group.
template <typename Real>
std::vector<Real> by_tap(const Convolution& c, const std::vector<Real>& w, bool to_outputs) {
  const std::int64_t taps = c.kernel_height * c.kernel_width, inputs = c.inputs / c.groups;
  const std::int64_t outputs = c.outputs / c.groups;
  std::vector<Real> out(w.size());
  const Real* from = w.data();
  for (std::int64_t k = 0; k < c.outputs; ++k) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      Real* const to = out.data() + (tap * c.groups + k / outputs) * inputs * outputs;
      const std::int64_t o = k % outputs;
      for (std::int64_t i = 0; i < inputs; ++i)
        to[to_outputs ? i * outputs + o : o * inputs + i] = *from++;
    }
  }
  return out;
}

// Forward: y from x, with `all` sorted by y. Data: x from y, with `all` sorted by x.
template <typename Real>
std::vector<Real> gather(const Convolution& c, const std::vector<Meeting>& all,
                         const std::vector<Real>& w, const std::vector<Real>& source,
                         bool is_forward) {
  const std::int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  const std::int64_t from_length = is_forward ? inputs : outputs;
  const std::int64_t to_length = is_forward ? outputs : inputs;
  const std::vector<Real> taps = by_tap(c, w, is_forward);
  std::vector<Real> result(static_cast<std::size_t>(is_forward ? c.y_elements() : c.x_elements()));
  const auto to = [&](const Meeting& one) { return is_forward ? one.y : one.x; };
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    while (last < all.size() && to(all[last]) == to(all[first])) ++last;
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const auto for_terms = [&](const auto& add) {
        for (std::size_t m = first; m < last; ++m) {
          const std::int64_t at = is_forward ? all[m].x : all[m].y;
          const Real* const from = source.data() + at + group * from_length;
          const Real* const rows = taps.data() + (all[m].tap * c.groups + group) * inputs * outputs;
          for (std::int64_t i = 0; i < from_length; ++i)
            add(Term<Real>{from + i, rows + i * to_length});
        }
      };
      sum_rows(result.data() + to(all[first]) + group * to_length, to_length, for_terms);
    }
  }
  return result;
}

template <typename Real>
std::vector<Real> filter_gradient(const Convolution& c, const std::vector<Meeting>& all,
                                  const std::vector<Real>& x, const std::vector<Real>& y) {
  const std::int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  std::vector<Real> w(static_cast<std::size_t>(c.w_elements()));
  for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
    while (last < all.size() && all[last].tap == all[first].tap) ++last;
    for (std::int64_t k = 0; k < c.outputs; ++k) {
      const auto for_terms = [&](const auto& add) {
        for (std::size_t m = first; m < last; ++m)
          add(Term<Real>{y.data() + all[m].y + k, x.data() + all[m].x + k / outputs * inputs});
      };
      sum_rows(w.data() + (k * taps + all[first].tap) * inputs, inputs, for_terms);
    }
  }
  return w;
}

template <typename Real>
void convolve_in(const Convolution& c, void* x, void* w, void* y) {
  const auto read_x = [&] { return read<Real>(c, x, c.x_elements()); };
  const auto read_w = [&] { return read<Real>(c, w, c.w_elements()); };
  const auto read_y = [&] { return read<Real>(c, y, c.y_elements()); };
  switch (c.direction) {
    case Direction::kForward:
      return write(c, gather(c, meetings_by(&Meeting::y, c), read_w(), read_x(), true), y);
    case Direction::kData:
      return write(c, gather(c, meetings_by(&Meeting::x, c), read_w(), read_y(), false), x);
    case Direction::kFilter:
      return write(c, filter_gradient(c, meetings_by(&Meeting::tap, c), read_x(), read_y()), w);
  }
}

}  // namespace

float to_tf32(float value) {
  return std::isfinite(value) ? std::bit_cast<float>(rounded_bits(value, 13)) : value;
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t to_bfloat16(float value) {
  if (std::isnan(value)) return 0x7fff;
  return static_cast<std::uint16_t>(rounded_bits(value, 16) >> 16);
}

void convolve(const Convolution& convolution, void* x, void* w, void* y) {
  convolution.sums_in_single ? convolve_in<float>(convolution, x, w, y)
                             : convolve_in<double>(convolution, x, w, y);
}

}  // namespace detol::emulated
