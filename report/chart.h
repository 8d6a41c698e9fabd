#pragma once

// A chart of a few series as text for a terminal, and as a script for gnuplot, which draws it as
// SVG or PNG. All but draw_chart() are pure functions.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline report {

// Series: points of equal count of x and y; those that are not finite are not drawn.
struct Series {
  std::string name;
  std::vector<double> x = {}, y = {};
  bool is_line = false;  // a staircase through the points in their order, else a dot each
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
};

// ChartArea: what a terminal has for a chart, in characters, axes included.
struct ChartArea {
  int columns = 80, rows = 18;
  bool utf8 = true;    // braille, 2 x 4 dots a character; else one of ASCII for each
  bool color = false;  // lines stand out
};

// AxisRange is what an axis shows.
struct AxisRange {
  double low = 0, high = 1;
};

// Returns the range that holds all points of lines and, of the dots, those between their 2nd and
// 98th percentile, so that a few diverged trials do not press the others together.
AxisRange shown_range(const Chart& chart);

// Returns whether the y axis is logarithmic: all values are positive, and what is shown of them
// spans a factor of 1,000.
bool is_logarithmic(const Chart& chart);

// Returns the chart with its axes, a line of text for each row. Dots outside of shown_range() are
// left out, and counted in the last line. Returns a sentence if there is nothing to draw.
std::string text_of(const Chart& chart, const ChartArea& area);

// Returns a script that makes gnuplot write the chart to the file `path`; `terminal` is svg or png.
// Texts and the path are quoted, so that nothing in them is a command.
std::string gnuplot_script(const Chart& chart, std::string_view terminal, std::string_view path);

// Lets gnuplot draw a chart into a file beside the target, X.svg or X.png, which replaces it when
// it is whole. Errors (kExport): there is no gnuplot, or it cannot.
Result<void> draw_chart(const Chart& chart, const std::filesystem::path& path);

}  // namespace detol::inline report
