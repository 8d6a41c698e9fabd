// `plot` draws the optimisation history and the Pareto front, in the terminal or by gnuplot.

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "core/table.h"
#include "core/terminal.h"
#include "report/chart.h"
#include "report/gathering/study_charts.h"
#include "studies/trial_summary.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostChartRows = 20;  // of a chart in the terminal

// Returns the charts that are asked for: all of the study's where no word says which.
Result<std::vector<Chart>> charts_of(const OpenStudy& study, const Arguments& arguments) {
  const std::string what = arguments.text("what");
  const bool has_front = study.record.objectives.size() > 1;
  if (what == "front" && !has_front)
    return usage_error("--what front: study '{}' has one objective, and so no front; leave it out",
                       study.record.name);
  std::vector<Chart> charts;
  if (what != "front") {
    const Against& against = *find_row<Against>(kAgainst, arguments.text("against", "trial"));
    DETOL_ASSIGN(Chart history, history_of(study, against));
    charts.push_back(std::move(history));
  }
  if (has_front && what != "history") {
    DETOL_ASSIGN(Chart front, front_of(study));
    charts.push_back(std::move(front));
  }
  return charts;
}

Result<int> write_picture(const OpenStudy& study, const Arguments& arguments) {
  const fs::path path = arguments.text("output");
  const std::string extension = path.extension().string();
  if (extension != ".svg" && extension != ".png")
    return usage_error("-o {}: its name must end in .svg or .png", path.string());
  DETOL_ASSIGN(const std::vector<Chart> charts, charts_of(study, arguments));
  if (charts.back().series.front().x.empty()) return nothing_reported(study);
  DETOL_TRY(draw_chart(charts.back(), path));
  return show(Rows{.columns = {"study", "file"}, .rows = {{study.record.name, path.string()}}},
              arguments.globals);
}

// Returns the points as rows.
Rows rows_of(const std::vector<Chart>& charts) {
  Rows rows{.columns = {"chart", "series", "x", "y"}, .rows = {}};
  for (const Chart& chart : charts) {
    for (const Series& series : chart.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i)
        rows.rows.push_back({chart.title, series.name, series.x[i], series.y[i]});
    }
  }
  return rows;
}

Result<int> run_plot(const Arguments& arguments) {
  const Globals& globals = arguments.globals;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  if (arguments.has("output")) return write_picture(study, arguments);
  DETOL_ASSIGN(const std::vector<Chart> charts, charts_of(study, arguments));
  if (globals.format != Format::kTable) return show(rows_of(charts), globals);
  const Screen screen = screen_at(STDOUT_FILENO, globals.color);
  const ChartArea area{.columns = screen.columns,
                       .rows = std::min(kMostChartRows, screen.rows - 1),
                       .utf8 = screen.utf8,
                       .color = screen.color};
  std::string text;
  for (const Chart& chart : charts) text += (text.empty() ? "" : "\n") + text_of(chart, area);
  return show(text);
}

}  // namespace

Command plot_command() {
  return {.name = "plot",
          .summary = "draw the history of a study, and its Pareto front, in the terminal or a file",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      one_of("--what", "WHAT",
                             "which chart; default: all in the terminal, the front into a file",
                             {"history", "front"}),
                      one_of("--against", "WHAT", "the history's x axis; default trial",
                             names_of<Against>(kAgainst)),
                      {"-o,--output", "FILE",
                       "FILE.svg or FILE.png, by gnuplot; default: the terminal"}},
          .examples =
              "  detol plot\n"
              "  detol plot fashion-cnn --against device-time\n"
              "  detol plot fashion-cnn -o history.svg\n"
              "  detol plot fashion-cnn -f csv",
          .run = run_plot};
}

}  // namespace detol::inline cli
