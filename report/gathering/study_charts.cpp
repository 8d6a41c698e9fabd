#include "report/gathering/study_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "studies/best_trial.h"

namespace detol::inline report {
namespace {

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
  for (const auto& row : ends.rows) finished_s[cell_number(row[0])] = cell_number(row[1]);
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

Series points_of(const OpenStudy& study, const std::vector<TrialSummary>& trials) {
  Series points;
  for (const TrialSummary& trial : trials) {
    points.x.push_back(metric_of(trial, study.record.objectives[1].metric));
    points.y.push_back(metric_of(trial, study.record.objectives[0].metric));
  }
  return points;
}

}  // namespace

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

Result<Chart> front_of(const OpenStudy& study) {
  DETOL_ASSIGN(const auto trials, trials_of(study, {.only_scored = true}));
  DETOL_ASSIGN(const auto front, pareto_trials(study));
  Series all = points_of(study, trials);
  const Series best = points_of(study, front);
  all.name = "trials";
  Series line{.name = "Pareto front", .is_line = study.record.objectives.size() == 2};
  std::vector<std::size_t> order(best.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
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

}  // namespace detol::inline report
