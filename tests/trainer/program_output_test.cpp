#include "trainer/programs/program_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class Output : public testing::Test {
 protected:
  Output() {
    if (::pipe2(ends_, O_NONBLOCK) != 0) ADD_FAILURE();
  }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void print(const std::string& text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ASSERT_TRUE(output_.read(ends_[0], report()));
  }
  std::string file(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / name).rdbuf();
    return text.str();
  }
  // Returns the lines of the report after the program has printed this and ended.
  std::string reported(const std::string& text) {
    std::filesystem::remove(report());
    print(text);
    EXPECT_TRUE(output_.end(report()));
    return file("report.jsonl");
  }
  std::filesystem::path report() const { return folder_.path() / "report.jsonl"; }

  testing_support::TempFolder folder_;
  int ends_[2];
  ProgramOutput output_ = ProgramOutput(folder_.path() / "output.log", 1,
                                        {{"loss", std::regex("loss=([-+.,eE0-9]+|nan|inf)")}});
};

struct Printed {
  const char *text, *report;
};

TEST_F(Output, IsReadAsItStandsOnATerminal) {
  for (const auto& [text, report] :
       {Printed{"loss=3\nloss=2\n", "{\"loss\":3.0}\n{\"loss\":2.0}\n"},
        {"loss=3\r\nloss=2\r\n", "{\"loss\":3.0}\n{\"loss\":2.0}\n"},
        {"\rloss=9\rloss=8\rloss=1\n", "{\"loss\":1.0}\n"},
        {"loss=9\rloss=8\rloss=1\r\r\n", "{\"loss\":1.0}\n"},
        {"loss=9\rdone\n", ""},
        {"loss=9\r", "{\"loss\":9.0}\n"},
        {"loss=4", "{\"loss\":4.0}\n"},
        {"loss=9\x1b[2K\x1b[Gloss=1\n", "{\"loss\":1.0}\n"},
        {"loss=9\x1b[1G\x1b[Kloss=1\n", "{\"loss\":1.0}\n"},
        {"loss=9\r\x1b[2K\n", ""},
        {"loss=9\x1b[K\n", "{\"loss\":9.0}\n"},
        {"loss=\x1b[1;31m3\x1b[0m\n", "{\"loss\":3.0}\n"},
        {"loss=9\rloss=5", "{\"loss\":5.0}\n"},
        {"no number\n", ""},
        {"", ""}})
    EXPECT_EQ(reported(text), report) << text;
}

TEST_F(Output, HasNumbersThatAreNotFinite) {
  EXPECT_EQ(reported("loss=nan\nloss=inf\n"), "{\"loss\":\"NaN\"}\n{\"loss\":\"Infinity\"}\n");
}

TEST_F(Output, DoesNotTakeHalfOfANumberForAll) {
  EXPECT_EQ(reported("loss=0,5\n"), "");
  EXPECT_EQ(output_.mistake(), "command.prints.loss found '0,5', which is not a number");
}

TEST_F(Output, OfALineThatComesInPiecesIsOneLine) {
  for (const char* piece : {"epoch 1\r", "epoch 1 lo", "ss=0", ".5", "\r", "\n"}) print(piece);
  EXPECT_EQ(file("report.jsonl"), "{\"loss\":0.5}\n");
}

TEST_F(Output, KeepsItsLastLineThatIsNotEmptyAsTheLastWords) {
  EXPECT_EQ(output_.last_words(), "");
  print("Traceback\nno such file\n\n  \n");
  EXPECT_EQ(output_.last_words(), ": no such file");
  print("10 %\r20 %");
  EXPECT_EQ(output_.last_words(), ": 20 %");
}

// A progress bar of hours is one line: what it has overwritten is forgotten.
TEST_F(Output, OfAProgressBarIsSearchedAtItsEndHoweverLongItWas) {
  for (int update = 0; update < 2000; ++update) print("\r" + std::string(60, '=') + " loss=7");
  EXPECT_EQ(reported("\rloss=1\n"), "{\"loss\":1.0}\n");
  EXPECT_EQ(file("output.log").size(), 2000U * 68 + 8);
}

TEST_F(Output, IsKeptAsItCame) {
  print("a\rb\nc");
  EXPECT_EQ(file("output.log"), "a\rb\nc");
}

}  // namespace
}  // namespace detol
