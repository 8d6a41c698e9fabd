#include "core/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

TEST(Columns, CountWhatATerminalShows) {
  EXPECT_EQ(columns_of(""), 0);
  EXPECT_EQ(columns_of("lr=0.1"), 6);
  EXPECT_EQ(columns_of("▁▂▃█━╸─·…"), 9);
  EXPECT_EQ(columns_of("探索"), 4);                // wide
  EXPECT_EQ(columns_of("e\u0301"), 1);             // a combining accent
  EXPECT_EQ(columns_of("\033[1mbest\033[0m"), 4);  // colours take no room
}

TEST(Fitted, LeavesWhatFitsAndMarksWhereItCuts) {
  EXPECT_EQ(fitted("study", 5, true), "study");
  EXPECT_EQ(fitted("a study", 5, true), "a st…");
  EXPECT_EQ(fitted("a study", 5, false), "a ...");
  EXPECT_EQ(fitted("探索探索", 5, true), "探索…");
  EXPECT_EQ(fitted("study", 2, false), "..");
  EXPECT_EQ(fitted("study", 0, true), "");
}

TEST(Fitted, NothingInUntrustedTextMovesTheCursor) {
  EXPECT_EQ(fitted("a\nb\x1b[2Jc\td", 20, true), "a?b?[2Jc?d");
  EXPECT_EQ(fitted("\xff\xfe", 20, true), "??");
  EXPECT_EQ(fitted("größe", 20, false), "gr??e");
}

TEST(Fitted, IsNeverWiderThanAsked) {
  for (int columns = 0; columns < 12; ++columns) {
    for (const char* text : {"a plain text", "探索空間の", "e\u0301e\u0301e\u0301", "x\xffy"}) {
      for (const bool utf8 : {true, false})
        EXPECT_LE(columns_of(fitted(text, columns, utf8)), columns) << text;
    }
  }
}

// Paper is a pipe in place of a terminal; text() returns what a painter wrote.
class Paper {
 public:
  Paper() { EXPECT_EQ(::pipe2(ends_.data(), O_NONBLOCK), 0); }
  ~Paper() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int fd() const { return ends_[1]; }
  std::string text() const {
    std::array<char, 4096> bytes;
    const auto size = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(Painter, DrawsOverItsLastFrameAndRestsBelowIt) {
  const Paper paper;
  Painter painter(paper.fd());
  painter.draw({"one", "two"}, {});
  EXPECT_EQ(paper.text(), "\rone\033[K\r\ntwo\033[K\r\n\033[J");
  painter.draw({"three"}, {});
  EXPECT_EQ(paper.text(), "\r\033[2Athree\033[K\r\n\033[J");
}

TEST(Painter, WritesNothingWhenNothingChanged) {
  const Paper paper;
  Painter painter(paper.fd());
  painter.draw({"one"}, {});
  paper.text();
  painter.draw({"one"}, {});
  EXPECT_EQ(paper.text(), "");
}

TEST(Painter, FindsItsFrameAgainInATerminalThatBecameNarrower) {
  const Paper paper;
  Painter painter(paper.fd());
  painter.draw({"a line of twenty-two c", "short"}, {.columns = 80});
  paper.text();
  painter.draw({"now"}, {.columns = 10});  // the old lines take 3 + 1 rows now
  EXPECT_TRUE(paper.text().starts_with("\r\033[4A"));
}

TEST(Painter, ASuccessorDrawsOverTheFrameOfItsPredecessor) {
  const TempFolder folder;
  const Paper paper;
  Painter(paper.fd(), 0, folder.path() / "frame").draw({"one", "two", "three"}, {});
  paper.text();
  Painter(paper.fd(), 0, folder.path() / "frame").draw({"new"}, {});
  EXPECT_EQ(paper.text(), "\r\033[3Anew\033[K\r\n\033[J");
}

TEST(Screen, WithoutATerminalItIsAnOrdinaryOne) {
  const Paper paper;
  const Screen screen = screen_at(paper.fd(), true);
  EXPECT_EQ(screen.columns, 80);
  EXPECT_EQ(screen.rows, 24);
  EXPECT_TRUE(screen.color);
  EXPECT_FALSE(is_live_terminal(paper.fd()));
}

class Setting : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"LC_ALL", "NO_COLOR"}) ::unsetenv(name);
  }
};

TEST_F(Setting, TheLocaleSaysWhetherThereIsMoreThanAscii) {
  ::setenv("LC_ALL", "de_DE.UTF-8", 1);
  EXPECT_TRUE(screen_at(-1, false).utf8);
  ::setenv("LC_ALL", "C.utf8", 1);
  EXPECT_TRUE(screen_at(-1, false).utf8);
  ::setenv("LC_ALL", "POSIX", 1);
  EXPECT_FALSE(screen_at(-1, false).utf8);
}

TEST_F(Setting, NoColorIsHeardUnlessColorsAreDemanded) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  EXPECT_TRUE(wants_color("auto", terminal));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color("auto", terminal));
  EXPECT_TRUE(wants_color("always", terminal));
  EXPECT_FALSE(wants_color("never", terminal));
  ::close(terminal);
  EXPECT_FALSE(wants_color("auto", -1));
}

}  // namespace
}  // namespace detol
