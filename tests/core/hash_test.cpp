#include "core/hash.h"

#include <array>

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Hash, IsXxh3) {
  // The first hash is published (no bytes); the others must stay equal to those in old databases.
  EXPECT_EQ(hash64(std::string_view("")), 0x2d06800538d394c2u);
  EXPECT_EQ(hash64(std::string_view("detol")), 0x51ac6faf4c410cb7u);
  EXPECT_EQ(hash64(std::string_view("detol"), 1), 0x30cca1dec16b1144u);
  EXPECT_EQ(hash_combine(1, 2), 0x1722dee50e00c79cu);
}

TEST(Hash, BytesAndTextAgree) {
  const std::array<char, 3> text = {'a', 'b', 'c'};
  EXPECT_EQ(hash64(std::as_bytes(std::span<const char>(text))), hash64(std::string_view("abc")));
}

TEST(Hash, CombiningKeepsTheOrder) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
}

TEST(Hash, HexHasSixteenDigits) {
  EXPECT_EQ(to_hex(0xabc), "0000000000000abc");
  EXPECT_EQ(to_hex(~std::uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace detol
