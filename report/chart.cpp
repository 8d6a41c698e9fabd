#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "core/durable_file.h"
#include "core/program.h"

namespace detol::inline report {
namespace {

constexpr double kOutside = 0.02;  // of the dots at either end
constexpr std::string_view kLineColor = "\x1b[36m", kPlain = "\x1b[0m";

bool is_drawn(const Series& series, std::size_t i) {
  return std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
}

// Returns a range that is not empty.
AxisRange widened(AxisRange range) {
  if (range.low < range.high) return range;
  const double by = range.low == 0 ? 1 : std::abs(range.low) * 0.05;
  return {range.low - by, range.high + by};
}

AxisRange x_range(const Chart& chart) {
  AxisRange range{INFINITY, -INFINITY};
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!is_drawn(series, i)) continue;
      range = {std::min(range.low, series.x[i]), std::max(range.high, series.x[i])};
    }
  }
  return widened(range);
}

// Canvas: dots in characters of `wide` x `high` dots.
class Canvas {
 public:
  Canvas(int columns, int rows, bool utf8)
      : columns_(columns),
        rows_(rows),
        wide_(utf8 ? 2 : 1),
        high_(utf8 ? 4 : 1),
        cells_(static_cast<std::size_t>(columns * rows)) {}

  int width() const { return columns_ * wide_; }
  int height() const { return rows_ * high_; }

  // x from the left, y from the top.
  void set(int x, int y, bool is_line) {
    static constexpr std::array<std::array<std::uint8_t, 2>, 4> kBits = {
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    if (x < 0 || x >= width() || y < 0 || y >= height()) return;
    Cell& cell = cells_[index_of(y / high_, x / wide_)];
    cell.bits |= kBits[static_cast<std::size_t>(y % high_)][static_cast<std::size_t>(x % wide_)];
    cell.has_line |= is_line;
  }

  std::string row(int row, bool color) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[index_of(row, column)];
      const bool stands_out = color && cell.has_line;
      if (stands_out) text += kLineColor;
      text += character(cell);
      if (stands_out) text += kPlain;
    }
    return text;
  }

 private:
  struct Cell {
    std::uint8_t bits = 0;
    bool has_line = false;
  };

  std::size_t index_of(int row, int column) const {
    const int index = row * columns_ + column;
    return static_cast<std::size_t>(index);
  }

  // Braille patterns are U+2800 and the bits of their dots (Unicode, block "Braille Patterns").
  std::string character(const Cell& cell) const {
    if (cell.bits == 0) return " ";
    if (wide_ == 1) return cell.has_line ? "-" : ".";
    return {'\xe2', static_cast<char>(0xa0 | cell.bits >> 6),
            static_cast<char>(0x80 | (cell.bits & 0x3f))};
  }

  int columns_, rows_, wide_, high_;
  std::vector<Cell> cells_;
};

// Returns the dot of a value, of `dots` along an axis.
int dot_of(double value, const AxisRange& range, int dots) {
  return static_cast<int>(std::lround((value - range.low) / (range.high - range.low) * (dots - 1)));
}

// Returns the chart with the logarithms of y.
Chart logarithms_of(Chart chart) {
  for (Series& series : chart.series) {
    for (double& y : series.y) y = std::log10(y);
  }
  return chart;
}

// Draws all series, lines last; returns how many dots lie outside.
int draw(const Chart& chart, const AxisRange& xs, const AxisRange& ys, Canvas& canvas) {
  int outside = 0;
  const auto x_of = [&](double x) { return dot_of(x, xs, canvas.width()); };
  const auto y_of = [&](double y) { return canvas.height() - 1 - dot_of(y, ys, canvas.height()); };
  for (const bool lines : {false, true}) {
    for (const Series& series : chart.series) {
      if (series.is_line != lines) continue;
      int last_x = -1, last_y = -1;
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!is_drawn(series, i)) continue;
        if (!lines && (series.y[i] < ys.low || series.y[i] > ys.high)) {
          ++outside;
          continue;
        }
        const int x = x_of(series.x[i]), y = y_of(series.y[i]);
        if (lines && last_x >= 0) {
          for (int at = last_x; at < x; ++at) canvas.set(at, last_y, true);
          for (int at = std::min(y, last_y); at <= std::max(y, last_y); ++at)
            canvas.set(x, at, true);
        }
        canvas.set(x, y, lines);
        last_x = x;
        last_y = y;
      }
    }
  }
  return outside;
}

std::string legend(const Chart& chart, bool utf8, int outside) {
  std::string text;
  for (const Series& series : chart.series)
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ",
                        series.is_line ? (utf8 ? "⠤⠤" : "--") : (utf8 ? "⠐" : "."), series.name);
  if (outside > 0) text += fmt::format("   ({} outside)", outside);
  return text;
}

std::string gnuplot_quoted(std::string_view text) {
  std::string words = "'";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') continue;
    words += c;
    if (c == '\'') words += c;
  }
  return words + "'";
}

}  // namespace

AxisRange shown_range(const Chart& chart) {
  AxisRange range{INFINITY, -INFINITY};
  const auto hold = [&](double y) { range = {std::min(range.low, y), std::max(range.high, y)}; };
  for (const Series& series : chart.series) {
    std::vector<double> values;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (is_drawn(series, i)) values.push_back(series.y[i]);
    }
    if (values.empty()) continue;
    std::ranges::sort(values);
    const std::size_t last = values.size() - 1;
    const auto outside =
        series.is_line ? std::size_t{0}
                       : static_cast<std::size_t>(kOutside * static_cast<double>(values.size()));
    hold(values[outside]);
    hold(values[last - outside]);
  }
  return widened(range);
}

bool is_logarithmic(const Chart& chart) {
  constexpr double kDecades = 1e3;
  const AxisRange range = shown_range(chart);
  return range.low > 0 && range.high / range.low >= kDecades &&
         std::ranges::none_of(chart.series, [](const Series& series) {
           return std::ranges::any_of(series.y, [](double y) { return y <= 0; });
         });
}

std::string text_of(const Chart& chart, const ChartArea& area) {
  const bool has_points = std::ranges::any_of(chart.series, [](const Series& series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (is_drawn(series, i)) return true;
    }
    return false;
  });
  if (!has_points) return chart.title + ": there is nothing to draw yet\n";
  const bool is_log = is_logarithmic(chart);
  const Chart drawn = is_log ? logarithms_of(chart) : chart;
  const AxisRange xs = x_range(drawn), ys = shown_range(drawn), labels = shown_range(chart);
  const std::string high = fmt::format("{:.4g}", labels.high),
                    low = fmt::format("{:.4g}", labels.low);
  const int margin = static_cast<int>(std::max(high.size(), low.size()));
  const int rows = std::max(3, area.rows - 4), columns = std::max(10, area.columns - margin - 2);
  Canvas canvas(columns, rows, area.utf8);
  const int outside = draw(drawn, xs, ys, canvas);
  std::string text = fmt::format("{}\n", chart.title);
  for (int row = 0; row < rows; ++row)
    text += fmt::format("{:>{}} {}{}\n",
                        row == 0          ? high
                        : row == rows - 1 ? low
                                          : "",
                        margin, area.utf8 ? "│" : "|", canvas.row(row, area.color));
  const std::string left = fmt::format("{:.4g}", xs.low), right = fmt::format("{:.4g}", xs.high);
  text += fmt::format("{:{}}  {}{:^{}}{}\n", "", margin, left, chart.x_label,
                      std::max(0, columns - static_cast<int>(left.size() + right.size())), right);
  return text + fmt::format("{:{}}  {}{}\n", "", margin, legend(chart, area.utf8, outside),
                            is_log ? "   (logarithmic)" : "");
}

std::string gnuplot_script(const Chart& chart, std::string_view terminal, std::string_view path) {
  const AxisRange ys = shown_range(chart);
  std::string script = fmt::format(
      "set terminal {} size 900,540 noenhanced\nset output {}\nset title {}\nset xlabel {}\n"
      "set ylabel {}\nset grid\nset key outside bottom center horizontal\nset yrange [{}:{}]\n"
      "set offsets 0, 0, graph 0.03, graph 0.03\n",
      terminal == "png" ? "pngcairo" : "svg", gnuplot_quoted(path), gnuplot_quoted(chart.title),
      gnuplot_quoted(chart.x_label), gnuplot_quoted(chart.y_label), ys.low, ys.high);
  if (is_logarithmic(chart)) script += "set logscale y\n";
  std::string plots;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    script += fmt::format("$series{} << END\n", i);
    for (std::size_t at = 0; at < series.x.size(); ++at) {
      if (is_drawn(series, at)) script += fmt::format("{} {}\n", series.x[at], series.y[at]);
    }
    script += "END\n";
    plots += fmt::format("{}$series{} with {} title {}", plots.empty() ? "plot " : ", ", i,
                         series.is_line ? "steps lw 2" : "points pt 7 ps 0.4",
                         gnuplot_quoted(series.name));
  }
  return script + plots + "\n";
}

Result<void> draw_chart(const Chart& chart, const std::filesystem::path& path) {
  const std::string program = find_program("gnuplot");
  if (program.empty())
    return fail(ErrorCode::kExport,
                "files are drawn by gnuplot, which is not here; install it (Debian: gnuplot-nox), "
                "or leave -o out");
  DETOL_ASSIGN(const std::filesystem::path made,
               create_beside(path).map([](const FreshFile& empty) { return empty.path; }));
  std::FILE* pipe = ::popen((shell_quoted(program) + " > /dev/null 2>&1").c_str(), "w");
  if (pipe == nullptr) return fail(ErrorCode::kExport, "cannot start gnuplot");
  std::fputs(
      gnuplot_script(chart, path.extension() == ".png" ? "png" : "svg", made.string()).c_str(),
      pipe);
  const int status = ::pclose(pipe);
  std::error_code error;
  if (status == 0) std::filesystem::rename(made, path, error);
  if (status == 0 && !error) return {};
  std::filesystem::remove(made, error);
  return fail(ErrorCode::kExport,
              fmt::format("{} could not be drawn; can its folder be written to?", path.string()));
}

}  // namespace detol::inline report
