#include "report/chart.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace detol {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Chart dots(std::vector<double> x, std::vector<double> y) {
  return {.title = "t",
          .x_label = "x",
          .y_label = "y",
          .series = {{"dots", std::move(x), std::move(y)}}};
}

constexpr ChartArea kAscii{.columns = 20, .rows = 9, .utf8 = false};

TEST(ChartText, HasADotWhereItsPointIs) {
  const auto lines = lines_of(text_of(dots({0, 1}, {0, 1}), kAscii));
  ASSERT_EQ(lines.size(), 1U + 5U + 2U);  // title, canvas, x axis, legend
  EXPECT_EQ(lines[1], "1 |                .");
  EXPECT_EQ(lines[3], "  |                 ");
  EXPECT_EQ(lines[5], "0 |.                ");
  EXPECT_EQ(lines[6], "   0       x       1");
}

TEST(ChartText, HasEightDotsToACharacterOfBraille) {
  const ChartArea area{.columns = 13, .rows = 7};  // 10 x 3 characters, 20 x 12 dots
  const auto lines = lines_of(text_of(dots({0, 19}, {0, 11}), area));
  EXPECT_NE(lines[1].find("│         ⠈"), std::string::npos) << lines[1];
  EXPECT_NE(lines[3].find("│⡀"), std::string::npos) << lines[3];
}

TEST(ChartText, DrawsALineAsAStaircase) {
  Chart chart = dots({0, 8, 16}, {2, 2, 0});
  chart.series[0].is_line = true;
  const auto lines = lines_of(text_of(chart, kAscii));
  EXPECT_EQ(lines[1], "2 |-----------------");
  EXPECT_EQ(lines[3], "  |                -");
  EXPECT_EQ(lines[5], "0 |                -");
}

TEST(ChartText, ColoursLinesAlone) {
  Chart chart = dots({0, 1}, {0, 1});
  ChartArea area = kAscii;
  area.color = true;
  EXPECT_EQ(text_of(chart, area).find('\x1b'), std::string::npos);
  chart.series[0].is_line = true;
  EXPECT_NE(text_of(chart, area).find('\x1b'), std::string::npos);
}

// One diverged trial of a hundred would leave the others a single row.
TEST(ChartText, LeavesOutFewDotsFarAwayAndCountsThem) {
  std::vector<double> x, y;
  for (int i = 0; i < 100; ++i) {
    x.push_back(i);
    y.push_back(i == 50 ? 1e9 : i);
  }
  const Chart chart = dots(x, y);
  EXPECT_LE(shown_range(chart).high, 100);
  EXPECT_NE(text_of(chart, kAscii).find("outside)"), std::string::npos);
}

TEST(ChartText, LeavesOutWhatIsNoNumber) {
  const Chart chart = dots({0, 1, 2, INFINITY}, {0, std::nan(""), 1, 7});
  EXPECT_EQ(shown_range(chart).high, 1);
  EXPECT_EQ(text_of(chart, kAscii).find("outside"), std::string::npos);
}

TEST(ChartText, SaysThatThereIsNothingYet) {
  EXPECT_EQ(text_of(dots({}, {}), kAscii), "t: there is nothing to draw yet\n");
  EXPECT_EQ(text_of(dots({0}, {std::nan("")}), kAscii), "t: there is nothing to draw yet\n");
}

TEST(ChartText, HasALogarithmicAxisForManyDecadesOfPositiveValues) {
  EXPECT_TRUE(is_logarithmic(dots({0, 1, 2}, {1e-4, 1e-2, 1})));
  EXPECT_FALSE(is_logarithmic(dots({0, 1, 2}, {-1e-4, 1e-2, 1})));
  EXPECT_FALSE(is_logarithmic(dots({0, 1, 2}, {0.1, 0.5, 1})));
  const auto lines = lines_of(text_of(dots({0, 1, 2}, {1e-4, 1e-2, 1}), kAscii));
  EXPECT_EQ(lines[3].find('.'), lines[3].find('|') + 7) << "the middle decade is in the middle";
}

// What a person wrote must not be a command of gnuplot.
TEST(GnuplotScript, QuotesTextsAndThePath) {
  Chart chart = dots({0, 1}, {0, 1});
  chart.title = "it's'\nsystem('reboot')";
  const std::string script = gnuplot_script(chart, "svg", "a'b.svg");
  EXPECT_NE(script.find("set title 'it''s''system(''reboot'')'\n"), std::string::npos) << script;
  EXPECT_NE(script.find("set output 'a''b.svg'\n"), std::string::npos) << script;
}

}  // namespace
}  // namespace detol
