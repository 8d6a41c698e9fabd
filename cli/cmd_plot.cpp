// `plot` draws the optimisation history and the Pareto front, in the terminal or by gnuplot.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>

#include "cli/commands.h"
#include "core/durable_file.h"
#include "core/program.h"
#include "core/table.h"
#include "core/terminal.h"
#include "printing/output.h"
#include "report/chart.h"
#include "studies/best_trial.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGnuplot = "gnuplot";
constexpr int kMostChartRows = 20;  // of a chart in the terminal

// Returns a number of a trial; NaN if it has none.
double number_at(const Rows& rows, std::size_t row, std::string_view column) {
  return cell_number(cell(rows, row, column));
}

// Against is what the history is drawn against.
struct Against {
  std::string_view name, label;
};

constexpr std::array kAgainst = {Against{"trial", "trial"},
                                 Against{"time", "hours since the study began"},
                                 Against{"device-time", "hours of device time"}};

// PlottedTrial is a trial with its value in the first objective.
struct PlottedTrial {
  double trial = 0, value = 0, device_s = 0;
  double finished_s = 0;  // since 1970
};

// Returns the scored trials that have ended, in the order of their ids.
Result<std::vector<PlottedTrial>> scored_trials(const OpenStudy& study) {
  DETOL_ASSIGN(const auto trials, trials_of(study, {.only_scored = true}));
  DETOL_ASSIGN(const Rows ends,
               study.reader->select("SELECT trial, finished FROM v_trials WHERE study = ?1",
                                    {study.record.name}));
  std::map<double, double> finished_s;
  for (std::size_t row = 0; row < ends.rows.size(); ++row)
    finished_s[number_at(ends, row, "trial")] = number_at(ends, row, "finished");
  std::vector<PlottedTrial> scored;
  for (const TrialSummary& trial : trials) {
    PlottedTrial one{.trial = static_cast<double>(trial.id),
                     .value = metric_of(trial, study.record.objectives.front().metric),
                     .device_s = std::max(0.0, trial.device_s)};
    one.finished_s = finished_s[one.trial];
    if (std::isfinite(one.value) && std::isfinite(one.finished_s)) scored.push_back(one);
  }
  std::ranges::sort(scored, {}, &PlottedTrial::trial);
  return scored;
}

std::string title_of(const OpenStudy& study, std::string_view what) {
  const Objective& first = study.record.objectives.front();
  return fmt::format("{}: {} ({} {})", study.record.name, what, to_text(first.direction),
                     first.metric);
}

// Returns the values of the trials, and the best so far.
Result<Chart> history_of(const OpenStudy& study, const Against& against) {
  constexpr double kHour = 3600;
  const Objective& objective = study.record.objectives.front();
  DETOL_ASSIGN(std::vector<PlottedTrial> trials, scored_trials(study));
  if (against.name != "trial") std::ranges::stable_sort(trials, {}, &PlottedTrial::finished_s);
  Series values{.name = "trials"}, best{.name = "best so far", .is_line = true};
  double device_s = 0, so_far = std::numeric_limits<double>::infinity();
  for (const PlottedTrial& one : trials) {
    device_s += one.device_s;
    so_far = std::min(so_far, to_loss(objective.direction, one.value));
    const double x = against.name == "trial"  ? one.trial
                     : against.name == "time" ? (one.finished_s - study.record.created_s) / kHour
                                              : device_s / kHour;
    values.x.push_back(x);
    values.y.push_back(one.value);
    best.x.push_back(x);
    best.y.push_back(to_loss(objective.direction, so_far));
  }
  return Chart{.title = title_of(study, "optimisation history"),
               .x_label = std::string(against.label),
               .y_label = objective.metric,
               .series = {std::move(values), std::move(best)}};
}

Series points_of(const OpenStudy& study, const std::vector<TrialSummary>& trials) {
  Series points;
  for (const TrialSummary& trial : trials) {
    points.x.push_back(metric_of(trial, study.record.objectives[1].metric));
    points.y.push_back(metric_of(trial, study.record.objectives[0].metric));
  }
  return points;
}

// Returns the first objective against the second, with the Pareto front.
Result<Chart> front_of(const OpenStudy& study) {
  DETOL_ASSIGN(const auto trials, trials_of(study, {.only_scored = true}));
  DETOL_ASSIGN(const auto front, pareto_trials(study));
  Series all = points_of(study, trials);
  const Series best = points_of(study, front);
  all.name = "trials";
  Series line{.name = "Pareto front", .is_line = study.record.objectives.size() == 2};
  std::vector<std::size_t> order(best.x.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return best.x[i]; });
  for (const std::size_t i : order) {
    line.x.push_back(best.x[i]);
    line.y.push_back(best.y[i]);
  }
  return Chart{.title = title_of(study, "Pareto front"),
               .x_label = study.record.objectives[1].metric,
               .y_label = study.record.objectives[0].metric,
               .series = {std::move(all), std::move(line)}};
}

// Returns the charts that are asked for: all of the study's where no word says which.
Result<std::vector<Chart>> charts_of(const OpenStudy& study, const Arguments& arguments) {
  const std::string what = arguments.text("what");
  const bool has_front = study.record.objectives.size() > 1;
  if (what == "front" && !has_front)
    return fail(ErrorCode::kUsage, fmt::format("--what front: study '{}' has one objective, and so "
                                               "no front; leave it out",
                                               study.record.name));
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

// Lets gnuplot draw into a file beside the target, which replaces it when it is whole.
Result<void> draw_file(const Chart& chart, const fs::path& path, const std::string& terminal) {
  const std::string program = find_program(kGnuplot);
  if (program.empty())
    return fail(ErrorCode::kExport,
                "files are drawn by gnuplot, which is not here; install it "
                "(Debian: gnuplot-nox), or leave -o out");
  DETOL_ASSIGN(const fs::path made,
               create_beside(path).map([](const FreshFile& empty) { return empty.path; }));
  std::FILE* pipe = ::popen((shell_quoted(program) + " > /dev/null 2>&1").c_str(), "w");
  if (pipe == nullptr) return fail(ErrorCode::kExport, "cannot start gnuplot");
  std::fputs(gnuplot_script(chart, terminal, made.string()).c_str(), pipe);
  const int status = ::pclose(pipe);
  std::error_code error;
  if (status == 0) fs::rename(made, path, error);
  if (status == 0 && !error) return {};
  fs::remove(made, error);
  return fail(ErrorCode::kExport,
              fmt::format("{} could not be drawn; can its folder be written to?", path.string()));
}

Result<int> write_picture(const OpenStudy& study, const Arguments& arguments) {
  const fs::path path = arguments.text("output");
  const std::string extension = path.extension().string();
  if (extension != ".svg" && extension != ".png")
    return fail(ErrorCode::kUsage,
                fmt::format("-o {}: its name must end in .svg or .png", path.string()));
  DETOL_ASSIGN(const std::vector<Chart> charts, charts_of(study, arguments));
  if (charts.back().series.front().x.empty()) return nothing_reported(study);
  DETOL_TRY(draw_file(charts.back(), path, extension.substr(1)));
  const Rows written{.columns = {"study", "file"}, .rows = {{study.record.name, path.string()}}};
  return show(written, arguments.globals);
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
  DETOL_ASSIGN(const OpenStudy study, open_study(globals.storage, arguments.text("STUDY")));
  if (arguments.has("output")) return write_picture(study, arguments);
  DETOL_ASSIGN(const std::vector<Chart> charts, charts_of(study, arguments));
  if (globals.format != Format::kTable) {
    return show(rows_of(charts), globals);
  }
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
                      {"--what",
                       "WHAT",
                       "which chart; default: all in the terminal, the front into a file",
                       Option::kOptional,
                       {"history", "front"}},
                      {"--against", "WHAT", "the history's x axis; default trial",
                       Option::kOptional, names_of<Against>(kAgainst)},
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
