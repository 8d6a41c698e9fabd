#pragma once

// Dropout by Philox 4x32-10 (Salmon et al., SC'11) for many blocks at once: a 64-bit lane holds one
// 32-bit word of a block's state, and its upper half is ignored.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

typedef std::uint64_t Words __attribute__((vector_size(DETOL_LANES * sizeof(float))));
typedef std::uint16_t Halves __attribute__((vector_size(DETOL_LANES * sizeof(std::uint16_t))));

constexpr int kWords = DETOL_LANES / 2;  // blocks in a vector; their bits are for 4 kLanes elements
constexpr int kVectors = 2;              // at a time, to hide the latency of products
constexpr int kCells = 4 * kVectors;     // positions of a channel block at a time

// Returns the products of the lower halves.
Words product_of_low(Words a, std::uint64_t b) {
  return (Words)DETOL_MULTIPLY_WORDS((DETOL_INTEGERS)a, (DETOL_INTEGERS)(b - Words{}));
}

struct Philox {
  Words a[kVectors], b[kVectors], c[kVectors], d[kVectors];

  void round(std::uint64_t key_a, std::uint64_t key_b) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const Words left = product_of_low(a[v], 0xD2511F53), right = product_of_low(c[v], 0xCD9E8D57);
      a[v] = (right >> 32) ^ b[v] ^ key_a;
      b[v] = right;
      c[v] = (left >> 32) ^ d[v] ^ key_b;
      d[v] = left;
    }
  }

  // Writes the blocks of these numbers, two words each, in order.
  void run(std::uint64_t key, const Words* numbers, std::uint64_t* words) {
    for (int v = 0; v < kVectors; ++v) {
      a[v] = numbers[v];
      b[v] = numbers[v] >> 32;
      c[v] = d[v] = Words{};
    }
    auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int i = 0; i < 10; ++i, low += 0x9E3779B9, high += 0xBB67AE85) round(low, high);
    for (int v = 0; v < kVectors; ++v) {
      const Words first = (a[v] & 0xffffffff) | b[v] << 32;
      const Words second = (c[v] & 0xffffffff) | d[v] << 32;
      for (int i = 0; i < kWords; ++i) {
        words[(v * kWords + i) * 2] = first[i];
        words[(v * kWords + i) * 2 + 1] = second[i];
      }
    }
  }
};

// DropoutCells numbers the stream's blocks, for one position of a channel block after the other.
struct DropoutCells {
  const Extent& extent;
  std::ptrdiff_t groups;  // of an image
  std::ptrdiff_t place;   // positions of the whole batch before this image, times groups
  std::ptrdiff_t block = 0, position = 0;

  void write(std::uint64_t* numbers) {
    constexpr std::ptrdiff_t here = kLanes / 8;
    for (std::ptrdiff_t i = 0; i < here; ++i)
      numbers[i] = static_cast<std::uint64_t>(place + position * groups + block * here + i);
    if (++position < extent.positions()) return;
    position = 0;
    if (++block < extent.blocks) return;
    block = 0;
    place += extent.positions() * groups;
  }
};

void dropout(const Dropout& d, const float* x, float* mask, float* y) {
  const std::ptrdiff_t cells = d.extent.images * d.extent.blocks * d.extent.positions();
  DropoutCells place{d.extent, d.groups, d.first * d.extent.positions() * d.groups};
  for (std::ptrdiff_t cell = 0; cell < cells; cell += kCells) {
    alignas(64) std::uint64_t numbers[kVectors * kWords] = {}, words[2 * kVectors * kWords];
    const std::ptrdiff_t here = cells - cell < kCells ? cells - cell : kCells;
    for (std::ptrdiff_t i = 0; i < here; ++i) place.write(numbers + i * kLanes / 8);
    Philox().run(d.key, reinterpret_cast<const Words*>(numbers), words);
    for (std::ptrdiff_t i = 0; i < here; ++i) {
      Halves bits;
      __builtin_memcpy(&bits, words + i * kLanes / 4, sizeof(bits));
      const Marks dropped = __builtin_convertvector(bits, Marks) < d.threshold;
      const Lanes factor = dropped ? Lanes{} : all(d.kept);
      const std::ptrdiff_t at = (cell + i) * kLanes;
      store(mask + at, factor);
      store(y + at, load(x + at) * factor);
    }
  }
}

}  // namespace
}  // namespace detol::inline trainer::cpu
