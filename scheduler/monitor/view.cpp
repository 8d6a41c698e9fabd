#include "scheduler/monitor/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "scheduler/monitor/line.h"

namespace detol::inline scheduler {
namespace {

constexpr int kLabel = 7;  // "devices"
constexpr int kShortestBar = 8;
constexpr int kLongestCurve = 24;
constexpr int kAiryRows = 16;  // rows of a screen that has room for empty lines
constexpr std::size_t kMostWarnings = 3;
constexpr int kLongestTitle = 14;
constexpr int kNarrow = 20;  // columns; on a narrower screen, lines are cut

Piece label(std::string_view word) {
  return {padded(std::string(word), kLabel, false), 0, Style::kDim};
}

std::string objectives_text(std::span<const Objective> objectives) {
  std::string text;
  for (const Objective& objective : objectives)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_text(objective.direction),
                        objective.metric);
  return text;
}

// Two paces that differ say between which times the end is likely.
std::string eta_text(double left_s, std::optional<double> left_now_s) {
  constexpr double kSurely = 0.05;  // of the time left: a smaller difference is not worth reading
  const double other_s = left_now_s.value_or(left_s);
  const auto [least_s, most_s] = std::minmax(left_s, other_s);
  const std::string least = duration_text(least_s), most = duration_text(most_s);
  if (least == most || most_s - least_s <= kSurely * most_s) return "ETA " + duration_text(left_s);
  return fmt::format("ETA {} to {}", least, most);
}

std::string header(const View& view, const Screen& screen) {
  Line line = {{view.study, 0, Style::kStrong},
               {objectives_text(view.objectives), 2, Style::kDim},
               {duration_text(view.elapsed_s) + " elapsed", 3, Style::kPlain, true}};
  if (!view.state.empty())
    line.push_back({view.state, 1, Style::kStrong, true});
  else if (view.left_s)
    line.push_back({eta_text(*view.left_s, view.left_now_s), 1, Style::kPlain, true});
  return laid_out(std::move(line), screen);
}

std::string notes_line(const View& view, const Screen& screen) {
  Line line;
  for (const std::string& note : view.notes)
    line.push_back({note, static_cast<int>(line.size()), Style::kWarning});
  return laid_out(std::move(line), screen);
}

double spent_share(const Meter& meter) {
  return meter.used / meter.limit;
}

// Writes as many decimals as make a hundredth of the limit visible.
std::string amount_text(double amount, double limit) {
  if (limit >= 1e6) {
    std::string text = fmt::format("{:.3g}", amount);
    std::erase(text, '+');
    return text;
  }
  return fmt::format("{:.{}f}", amount, limit >= 100 ? 0 : limit >= 10 ? 1 : 2);
}

std::string meter_text(const Meter& meter) {
  const double used = meter.unit == "trials" ? std::floor(meter.used) : meter.used;
  std::string limit = fmt::format("{:.6g}", meter.limit);
  std::erase(limit, '+');
  const double precision = meter.unit == "trials" ? 100 : meter.limit;
  return fmt::format("{}/{} {}", amount_text(used, std::max(precision, meter.limit)), limit,
                     meter.unit);
}

std::string bar_of(double share, int width, bool utf8) {
  const std::string_view full = utf8 ? "━" : "#", half = utf8 ? "╸" : "#", rest = utf8 ? "─" : "-";
  const int halves = static_cast<int>(std::clamp(share, 0.0, 1.0) * 2 * width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += 2 * i + 1 < halves ? full : 2 * i < halves ? half : rest;
  return bar;
}

// The bar takes the width that the numbers leave.
std::string budget_line(const View& view, const Screen& screen) {
  if (view.meters.empty()) return laid_out({{"no limit: it runs until it is stopped"}}, screen);
  const Meter& fullest = *std::ranges::max_element(view.meters, {}, spent_share);
  const double share = spent_share(fullest);
  Line line = {{std::string(kShortestBar, ' '), 0, Style::kGood},
               {fmt::format("{:3.0f} %", 100 * std::clamp(share, 0.0, 1.0)), 0, Style::kStrong},
               {meter_text(fullest), 1}};
  for (const Meter& meter : view.meters) {
    if (&meter != &fullest) line.push_back({meter_text(meter), 2, Style::kDim});
  }
  const int width = screen.columns - 1;
  while (line.size() > 2 && width_of(line) > width) line.pop_back();
  const int room = std::min(width, kLongestLine) - width_of(line);
  const int bar = kShortestBar + std::max(0, room);
  line.front().text = bar_of(share, bar, screen.utf8);
  return laid_out(std::move(line), screen);
}

std::string best_line(const View& view, const Screen& screen) {
  if (!view.best) return laid_out({label("best"), {"none yet", 0, Style::kDim}}, screen);
  const ViewBest& best = *view.best;
  Line line = {label("best"),
               {value_text(best.value), 0, Style::kGood},
               {fmt::format("trial {}", best.trial), 1, Style::kStrong},
               {duration_text(best.ago_s) + " ago", 2, Style::kDim}};
  for (const auto& [name, value] : best.others)
    line.push_back({fmt::format("{} {}", name, value_text(value)), static_cast<int>(line.size()),
                    Style::kGood});
  for (const auto& [name, value] : best.params)
    line.push_back({fmt::format("{}={}", name, value), static_cast<int>(line.size())});
  return laid_out(std::move(line), screen);
}

std::string front_line(const ViewFront& front, const Screen& screen) {
  Line line = {label("front"), {fmt::format("{} trials", front.trials), 0, Style::kStrong}};
  for (const ViewFront::Extent& extent : front.extents)
    line.push_back(
        {fmt::format("{} {} to {}", extent.metric, value_text(extent.low), value_text(extent.high)),
         static_cast<int>(line.size())});
  return laid_out(std::move(line), screen);
}

std::string trials_line(const ViewCounts& counts, const Screen& screen) {
  struct Count {
    int count;
    std::string_view word;
    int rank;
    bool is_shown;
  };
  const auto counted =
      std::to_array<Count>({{counts.trained, "begun", 0, true},
                            {counts.running, "running", 1, true},
                            {counts.waiting, "waiting", 5, counts.waiting > 0},
                            {counts.complete, "complete", 3, counts.complete > 0},
                            {counts.pruned, "pruned", 4, counts.pruned > 0},
                            {counts.failed, "failed", 2, counts.failed > 0},
                            {counts.untrained, "skipped", 6, counts.untrained > 0}});
  Line line = {label("trials")};
  for (const Count& each : counted) {
    if (each.is_shown) line.push_back({fmt::format("{} {}", each.count, each.word), each.rank});
  }
  return laid_out(std::move(line), screen);
}

struct Scale {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
};

Scale scale_of(std::span<const ViewTrial> trials) {
  Scale scale;
  for (const ViewTrial& trial : trials) {
    for (const double value : trial.curve) {
      if (!std::isfinite(value)) continue;
      scale.low = std::min(scale.low, value);
      scale.high = std::max(scale.high, value);
    }
  }
  return scale;
}

std::string_view mark_of(double value, const Scale& scale, bool utf8) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = ".:-=+*#@";
  if (!std::isfinite(value)) return "?";
  const double share =
      scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0.5;
  const auto level = std::min<std::size_t>(7, static_cast<std::size_t>(share * 8));
  return utf8 ? kBlocks[level] : kAscii.substr(level, 1);
}

// Returns one mark per epoch of the full length, or per several epochs of a long training.
std::string curve_of(const ViewTrial& trial, const Scale& scale, bool utf8) {
  const int epochs = std::max({1, trial.epochs, static_cast<int>(trial.curve.size())});
  const int width = std::min(epochs, kLongestCurve);
  std::string text;
  for (int i = 0; i < width; ++i) {
    const auto epoch = static_cast<std::size_t>(i) * static_cast<std::size_t>(epochs) /
                       static_cast<std::size_t>(width);
    const bool is_trained = epoch < trial.curve.size();
    text += is_trained ? mark_of(trial.curve[epoch], scale, utf8) : utf8 ? "·" : " ";
  }
  return text;
}

double best_of(const ViewTrial& trial, Direction direction) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const double value : trial.curve) {
    if (is_better(direction, value, best)) best = value;
  }
  return best;
}

struct Column {
  std::string title;
  int rank = 0;
  bool at_right = true;
  Style style = Style::kPlain;
  std::vector<std::string> cells = {};
  int width = 0;
};

std::vector<Column> columns_for(std::span<const ViewTrial> trials, const Objective& objective,
                                bool utf8) {
  const Scale scale = scale_of(trials);
  Column id{"trial", 0}, worker{"worker", 6, false, Style::kDim}, epoch{"epoch", 1},
      curve{"curve", 2, false, Style::kGood},
      value{fitted(objective.metric, kLongestTitle, utf8), 3, true, Style::kStrong},
      best{"best", 5}, time{"in epoch", 4, true, Style::kDim};
  for (const ViewTrial& trial : trials) {
    id.cells.push_back(std::to_string(trial.trial));
    worker.cells.push_back(fitted(trial.worker, kLongestCurve, utf8));
    epoch.cells.push_back(fmt::format("{}/{}", trial.epoch, trial.epochs));
    curve.cells.push_back(curve_of(trial, scale, utf8));
    value.cells.push_back(trial.curve.empty() ? "" : value_text(trial.curve.back()));
    best.cells.push_back(trial.curve.empty() ? ""
                                             : value_text(best_of(trial, objective.direction)));
    time.cells.push_back(duration_text(trial.in_epoch_s));
  }
  return {id, worker, epoch, curve, value, best, time};
}

// Removes columns until the rest fits.
void fit(std::vector<Column>& columns, int width) {
  int sum = -kGap;
  for (Column& column : columns) {
    column.width = columns_of(column.title);
    for (const std::string& cell : column.cells)
      column.width = std::max(column.width, columns_of(cell));
    sum += column.width + kGap;
  }
  while (columns.size() > 1 && sum > width) {
    const auto least = std::ranges::max_element(columns, {}, &Column::rank);
    sum -= least->width + kGap;
    columns.erase(least);
  }
}

std::string table_row(const std::vector<Column>& columns, std::optional<std::size_t> row,
                      const Screen& screen) {
  std::string text;
  for (const Column& column : columns) {
    if (&column != &columns.front()) text += spaces(kGap);
    const std::string& cell = row ? column.cells[*row] : column.title;
    const Style style = row ? column.style : Style::kDim;
    text += styled(padded(cell, column.width, column.at_right), style, screen);
  }
  return text;
}

// Returns the trials that started last, as many as there are lines for.
std::vector<ViewTrial> latest(std::vector<ViewTrial> trials, std::size_t count) {
  const auto is_later = [](const ViewTrial& a, const ViewTrial& b) {
    return a.started_s != b.started_s ? a.started_s > b.started_s : a.trial > b.trial;
  };
  std::ranges::sort(trials, is_later);
  trials.resize(std::min(trials.size(), count));
  std::ranges::sort(trials, {}, &ViewTrial::trial);
  return trials;
}

std::vector<std::string> table(const View& view, std::size_t room, const Screen& screen) {
  if (view.running.empty() || room < 2) return {};
  const bool all_fit = view.running.size() + 1 <= room;
  const std::size_t shown = all_fit ? view.running.size() : room - 2;
  const auto trials = latest(view.running, shown);
  std::vector<std::string> lines;
  if (!trials.empty()) {
    auto columns = columns_for(trials, view.objectives.front(), screen.utf8);
    fit(columns, screen.columns - 1);
    lines.push_back(table_row(columns, std::nullopt, screen));
    for (std::size_t i = 0; i < trials.size(); ++i) lines.push_back(table_row(columns, i, screen));
  }
  if (!all_fit) {
    const std::string more =
        fmt::format("{} and {} more", screen.utf8 ? "…" : "...", view.running.size() - shown);
    lines.push_back(laid_out({{more, 0, Style::kDim}}, screen));
  }
  return lines;
}

std::vector<std::string> warnings(const View& view, std::size_t most, const Screen& screen) {
  const std::size_t count = std::min(view.warnings.size(), most);
  std::vector<std::string> lines;
  for (const ViewWarning& each : std::span(view.warnings).last(count)) {
    const std::string times = each.count > 1 ? fmt::format(" ({}x)", each.count) : "";
    const int room = screen.columns - 1 - 2 - columns_of(times);
    lines.push_back(laid_out(
        {{"! " + fitted(each.text, room, screen.utf8) + times, 0, Style::kWarning}}, screen));
  }
  return lines;
}

void append(std::vector<std::string>& lines, std::vector<std::string> more, bool after_a_gap) {
  if (more.empty()) return;
  if (after_a_gap) lines.emplace_back();
  for (std::string& line : more) lines.push_back(std::move(line));
}

std::vector<std::string> frame_of(const View& view, const Screen& screen) {
  const auto room = static_cast<std::size_t>(std::max(1, screen.rows - 1));
  const bool is_airy = screen.rows >= kAiryRows;
  std::vector<std::string> lines = {header(view, screen), budget_line(view, screen)};
  if (!view.notes.empty()) lines.push_back(notes_line(view, screen));
  std::vector<std::string> facts = {best_line(view, screen)};
  if (view.front) facts.push_back(front_line(*view.front, screen));
  facts.push_back(trials_line(view.counts, screen));
  if (view.utilization) {
    const double percent = 100 * std::clamp(*view.utilization, 0.0, 1.0);
    facts.push_back(
        laid_out({label("devices"), {fmt::format("utilization {:.0f} %", percent)}}, screen));
  }
  append(lines, std::move(facts), is_airy);
  const auto troubles = warnings(view, is_airy ? kMostWarnings : 1, screen);
  const std::size_t taken =
      lines.size() + troubles.size() + (is_airy ? 1 : 0) + (is_airy && !troubles.empty() ? 1 : 0);
  append(lines, table(view, room - std::min(room, taken), screen), is_airy);
  append(lines, troubles, is_airy);
  lines.resize(std::min(lines.size(), room));
  return lines;
}

}  // namespace

std::vector<std::string> render(const View& view, const Screen& screen) {
  if (screen.columns >= kNarrow) return frame_of(view, screen);
  Screen plain = screen;
  plain.color = false;
  std::vector<std::string> lines = frame_of(view, plain);
  for (std::string& line : lines) line = fitted(line, screen.columns - 1, screen.utf8);
  return lines;
}

std::string duration_text(double seconds) {
  const auto s = std::max(0L, std::lround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

std::string value_text(double value) {
  if (std::isnan(value)) return "nan";
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e4)) return fmt::format("{:.2e}", value);
  return fmt::format("{:.4f}", value);
}

}  // namespace detol::inline scheduler
