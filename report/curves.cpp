#include <algorithm>
#include <map>

#include "report/panels.h"

namespace detol::inline report {
namespace {

constexpr std::size_t kMostCurves = 200;
constexpr std::size_t kBestCurves = 60;
constexpr std::size_t kPointsOfCurve = 200;

// Returns the positions of the trials whose curves are shown, ascending.
std::vector<std::size_t> chosen(const ReportSource& source, const Trials& trials) {
  std::vector<std::size_t> with_curve;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (!trials[i].curve.empty()) with_curve.push_back(i);
  std::vector<std::size_t> best = ranked(source, trials);
  best.resize(std::min(best.size(), kBestCurves));
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < with_curve.size(); ++place)
    if (std::ranges::find(best, with_curve[place]) != best.end()) places.push_back(place);
  std::vector<std::size_t> shown;
  for (const std::size_t place : thinned(with_curve.size(), kMostCurves, places))
    shown.push_back(with_curve[place]);
  return shown;
}

Json curve_of(const ShownTrial& trial) {
  Json epochs = Json::array(), values = Json::array();
  for (const std::size_t i :
       thinned(trial.curve.size(), kPointsOfCurve, {trial.curve.size() - 1})) {
    epochs.push_back(trial.curve[i].epoch);
    values.push_back(number_or_null(trial.curve[i].value));
  }
  return {{"trial", trial.trial}, {"state", trial.state}, {"epochs", epochs}, {"values", values}};
}

// Returns how many trials the pruner ended after each number of epochs.
Json rungs(const ReportSource& source, const Trials& trials) {
  std::map<double, std::int64_t> pruned;
  for (const ShownTrial& trial : trials)
    if (trial.state == "PRUNED" && trial.reason == source.config.pruner.name)
      ++pruned[trial.epochs];
  Json rows = Json::array();
  for (const auto& [epoch, count] : pruned) rows.push_back({{"epoch", epoch}, {"trials", count}});
  return rows;
}

}  // namespace

Json learning_curves(const ReportSource& source, const Trials& trials) {
  Json curves = Json::array();
  bool has_length = false;
  for (const std::size_t i : chosen(source, trials)) {
    has_length = has_length || trials[i].curve.size() > 1;
    curves.push_back(curve_of(trials[i]));
  }
  if (curves.empty()) return {{"why", "No trial has reported a number yet."}};
  if (!has_length)
    return {{"why", "Every trial reported once, so that there are no curves to draw."}};
  const auto count = std::ranges::count_if(trials, [](const auto& t) { return t.epochs > 0; });
  return {{"curves", curves},
          {"of", count},
          {"pruner", source.config.pruner.name},
          {"rungs", rungs(source, trials)}};
}

}  // namespace detol::inline report
