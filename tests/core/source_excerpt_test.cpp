// An error of a file shows on a terminal the line that it is about.

#include "core/source_excerpt.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

std::string excerpt(const std::string& text, const std::string& place, int columns = 40) {
  TempFolder folder;
  const std::string file = (folder.path() / "a.yaml").string();
  std::ofstream(file, std::ios::binary) << text;
  return source_excerpt(file + place, {.columns = columns, .utf8 = true});
}

TEST(SourceExcerpt, ShowsTheLineAndTheColumn) {
  EXPECT_EQ(excerpt("version: 1\nstudi: x\n", ":2:1: unknown key"), "2 | studi: x\n  | ^\n");
  EXPECT_EQ(excerpt("a:\r\n  lr: 1e\r\n", ":2:7: no number: 3:4: of"),
            "2 |   lr: 1e\n  |       ^\n");
  EXPECT_EQ(excerpt("\tü: x", ":1:6: x"), "1 |  ü: x\n  |     ^\n") << "a wide character is one";
  EXPECT_EQ(excerpt("a: ", ":1:4: a value is missing"), "1 | a: \n  |    ^\n") << "at the end";
}

TEST(SourceExcerpt, CutsALongLineAroundThePlace) {
  const std::string line = std::string(500, 'a') + "HERE" + std::string(500, 'b');
  EXPECT_EQ(excerpt(line, ":1:501: x", 25), "1 | aaaaaaaaaaHEREbbbbb\u2026\n  |           ^\n");
}

TEST(SourceExcerpt, IsHarmlessToATerminal) {
  EXPECT_EQ(excerpt("a\x1b[2J: 1\n", ":1:1: x").find('\x1b'), std::string::npos);
}

TEST(SourceExcerpt, IsEmptyWhereThereIsNoSuchLine) {
  for (const char* place : {"", ": no place", ":1: no column", ":3:1: beyond", ":1:9: beyond",
                            ":0:1: x", ":1:0: x", ":1:1", ":99999999999999999999:1: x"})
    EXPECT_EQ(excerpt("abc\ndef", place), "") << place;
  EXPECT_EQ(excerpt(std::string("a\0b", 3), ":1:1: binary"), "");
  EXPECT_EQ(source_excerpt("/dev/zero:1:1: endless", {}), "");
  EXPECT_EQ(source_excerpt("no such file.yaml:1:1: x", {}), "");
}

}  // namespace
}  // namespace detol
