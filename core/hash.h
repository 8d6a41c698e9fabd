#pragma once

// Hashes (xxHash, XXH3): identities of networks, fingerprints of data, checksums of
// rows and checkpoints. Stable across machines and releases. Not cryptographic.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace detol::inline core {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);
std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// Combines two hashes. Order matters: combine(combine(s, a), b) != combine(combine(s, b), a).
std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value);

// Returns 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t hash);

}  // namespace detol::inline core
