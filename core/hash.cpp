#include "core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>

namespace detol::inline core {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  std::array<unsigned char, 8> bytes{};  // little-endian on every machine
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string to_hex(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace detol::inline core
