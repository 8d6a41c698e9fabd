#include "core/utf8.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(Utf8, EveryLengthOfACharacterIsKnown) {
  EXPECT_EQ(utf8_length("a\xff"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa4"), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x90\xb4"), 4u);
}

TEST(Utf8, BytesThatNoEncoderWritesAreNoCharacter) {
  for (const char* text : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                           "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xff", "\xe2\x82"})
    EXPECT_EQ(utf8_length(text), 0u) << text;
}

TEST(Utf8, ATextIsUtf8OnlyIfAllCharactersAre) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("K\xc3\xa4se \xe2\x82\xac"));
  EXPECT_FALSE(is_utf8("K\xe4se"));
  EXPECT_FALSE(is_utf8("cut \xe2\x82"));
}

TEST(Utf8, APrintableTextControlsNoTerminal) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\x07 a\rb\nc\x7f"),
            "\\x1b[2J\\x1b]0;title\\x07 a\\rb\\nc\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \x9b"
                      "2J \xff"),
            "\\xc2\\x9b2J \\x9b2J \\xff");
  EXPECT_EQ(printable("na\xc3\xafve \xe2\x9c\x93"), "na\xc3\xafve \xe2\x9c\x93");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(Utf8, AnExcerptIsBoundedAndCutsNoCharacter) {
  EXPECT_EQ(printable_excerpt("short\n"), "short\\n");
  EXPECT_EQ(printable_excerpt(std::string(400, 'a')), std::string(400, 'a'));
  EXPECT_EQ(printable_excerpt(std::string(401, 'a')), std::string(400, 'a') + "...");
  std::string accents = "a";
  for (int i = 0; i < 300; ++i) accents += "\xc3\xaf";
  EXPECT_EQ(printable_excerpt(accents), accents.substr(0, 399) + "...");
  EXPECT_EQ(printable_excerpt(std::string(1000, '\xfb')).size(), 4 * 400 + 3);
}

}  // namespace
}  // namespace detol
