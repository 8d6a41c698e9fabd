#pragma once

// Constants that the writer and the reader of packed data share; the grammar is in
// packed_write.cpp.

#include <cstddef>
#include <string_view>

namespace detol::inline trainer::packed {

inline constexpr std::string_view kMagic = "DETOLDS";
inline constexpr char kVersion = '1';
inline constexpr char kVersionWithOffsets = '2';  // offsets, which version 1 did not know
inline constexpr std::size_t kHeadBytesAt = 8;
inline constexpr std::size_t kHeadSumAt = 16;  // checksum of the head from kLengthAt on
inline constexpr std::size_t kLengthAt = 24;   // length of the header
inline constexpr std::size_t kHeaderAt = 32;
inline constexpr std::size_t kPage = 4096;  // sizes of head and blocks are multiples

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace detol::inline trainer::packed
