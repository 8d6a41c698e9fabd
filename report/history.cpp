#include <algorithm>
#include <cmath>

#include "report/panels.h"
#include "surrogate/pareto.h"

namespace detol::inline report {
namespace {

constexpr std::size_t kMostHistoryPoints = 3000;
constexpr std::size_t kMostVolumes = 120;
constexpr double kMostSteps = 1e8;  // of all hypervolumes: about a second

// BestSoFar follows the best value of the trials that it is shown.
class BestSoFar {
 public:
  explicit BestSoFar(Direction direction) : direction_(direction) {}

  // Returns whether the trial improved it.
  bool take(const ShownTrial& trial) {
    if (!trial.is_scored || !is_better(direction_, trial.values.front(), best_)) return false;
    best_ = trial.values.front();
    return true;
  }
  double value() const { return best_; }

 private:
  Direction direction_;
  double best_ = std::nan("");
};

// Returns the value that the history shows: only of a trial that reported and has not failed.
double shown_value(const ShownTrial& trial) {
  const bool has_one = trial.epochs > 0 && trial.state != "FAIL" && !trial.values.empty();
  return has_one ? trial.values.front() : std::nan("");
}

// Returns the history of the trials in `order`; `t0_s` is when the study began.
Json history_in(const Trials& trials, const std::vector<std::size_t>& order, Direction direction,
                double t0_s) {
  std::vector<std::size_t> improvements;
  std::vector<double> bests, device;
  BestSoFar best(direction);
  double device_s = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ShownTrial& trial = trials[order[i]];
    if (best.take(trial)) improvements.push_back(i);
    bests.push_back(best.value());
    device.push_back(device_s += trial.device_s);
  }
  Json columns{{"trial", Json::array()},
               {"value", Json::array()},
               {"best", Json::array()},
               {"wall_s", Json::array()},
               {"device_s", Json::array()}};
  for (const std::size_t i : thinned(order.size(), kMostHistoryPoints, improvements)) {
    const ShownTrial& trial = trials[order[i]];
    columns["trial"].push_back(trial.trial);
    columns["value"].push_back(number_or_null(shown_value(trial)));
    columns["best"].push_back(number_or_null(bests[i]));
    columns["wall_s"].push_back(
        trial.finished_s ? number_or_null(std::max(0.0, *trial.finished_s - t0_s)) : Json());
    columns["device_s"].push_back(device[i]);
  }
  return columns;
}

// Returns the losses of the scored trials that have every objective, with their positions.
std::vector<Losses> losses_of(const ReportSource& source, const Trials& trials,
                              std::vector<std::size_t>& positions) {
  std::vector<Losses> points;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].is_scored) continue;
    Losses losses;
    for (std::size_t k = 0; k < source.study.objectives.size(); ++k) {
      const double value = trials[i].values[k];
      if (std::isfinite(value))
        losses.push_back(to_loss(source.study.objectives[k].direction, value));
    }
    if (losses.size() < source.study.objectives.size()) continue;
    points.push_back(std::move(losses));
    positions.push_back(i);
  }
  return points;
}

Losses worst_of(const std::vector<Losses>& points) {
  Losses worst = points.front();
  for (const Losses& point : points) {
    for (std::size_t k = 0; k < worst.size(); ++k) worst[k] = std::max(worst[k], point[k]);
  }
  return worst;
}

// Returns how many hypervolumes can be computed in time, each O(f^(m - 1)) for a front of f trials.
std::size_t affordable_volumes(std::size_t front, std::size_t objectives) {
  const double steps = std::pow(static_cast<double>(front), static_cast<double>(objectives) - 1);
  return static_cast<std::size_t>(std::min(kMostSteps / steps, static_cast<double>(kMostVolumes)));
}

// Returns the hypervolumes of the first points up to some of them, none where that takes too long.
Json volumes(const Trials& trials, const std::vector<Losses>& points,
             const std::vector<std::size_t>& positions, const Losses& reference,
             std::size_t count) {
  Json columns{{"trial", Json::array()}, {"volume", Json::array()}};
  if (count == 0) return columns;
  std::vector<Losses> front;
  std::size_t next = 0;
  for (const std::size_t i : thinned(points.size(), count, {points.size() - 1})) {
    front.insert(front.end(), points.begin() + static_cast<std::ptrdiff_t>(next),
                 points.begin() + static_cast<std::ptrdiff_t>(i + 1));
    next = i + 1;
    front = front_of(front);
    columns["trial"].push_back(trials[positions[i]].trial);
    columns["volume"].push_back(number_or_null(hypervolume(front, reference)));
  }
  return columns;
}

}  // namespace

Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

Json history(const ReportSource& source, const Trials& trials) {
  if (source.study.objectives.empty() || trials.empty())
    return {{"why", "The study has no trial yet."}};
  std::vector<std::size_t> all(trials.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const Direction direction = source.study.objectives.front().direction;
  const double t0_s = source.study.created_s;
  return {{"by_trial", history_in(trials, all, direction, t0_s)},
          {"by_end", history_in(trials, by_end(trials), direction, t0_s)}};
}

std::vector<std::size_t> pareto_trials(const ReportSource& source, const Trials& trials) {
  if (source.study.objectives.size() < 2) return {};
  std::vector<std::size_t> positions, front;
  const std::vector<Losses> points = losses_of(source, trials, positions);
  for (const std::size_t place : nondominated(points)) front.push_back(positions[place]);
  return front;
}

Json time_to_best(const ReportSource& source, const Trials& trials) {
  struct Improvement {
    const ShownTrial* trial;
    double value, device_s;
  };
  Json rows = Json::array();
  if (source.study.objectives.empty()) return rows;
  std::vector<Improvement> all;
  BestSoFar best(source.study.objectives.front().direction);
  double device_s = 0;
  for (const std::size_t i : by_end(trials)) {
    device_s += trials[i].device_s;
    if (best.take(trials[i])) all.push_back({&trials[i], best.value(), device_s});
  }
  if (all.size() < 2) return rows;
  const double first = all.front().value, way = all.back().value - first;
  for (const double share : {0.5, 0.9, 0.99, 1.0}) {
    const auto reached = std::ranges::find_if(
        all, [&](const Improvement& one) { return (one.value - first) / way >= share; });
    if (reached == all.end()) continue;
    const auto& finished_s = reached->trial->finished_s;
    rows.push_back(
        {{"share", share},
         {"value", reached->value},
         {"trial", reached->trial->trial},
         {"wall_s", finished_s ? number_or_null(*finished_s - source.study.created_s) : Json()},
         {"device_s", reached->device_s}});
  }
  return rows;
}

Json pareto_front(const ReportSource& source, const Trials& trials) {
  if (source.study.objectives.size() < 2) return {};
  std::vector<std::size_t> positions;
  const std::vector<Losses> points = losses_of(source, trials, positions);
  if (points.empty()) return {{"why", "No trial has a number for every objective yet."}};
  Losses reference = worst_of(points);
  for (std::size_t k = 0; k < reference.size(); ++k) {
    const Objective& objective = source.study.objectives[k];
    const auto own =
        std::ranges::find(source.config.objectives, objective.metric, &Objective::metric);
    if (own == source.config.objectives.end() || !own->reference) continue;
    reference[k] = to_loss(objective.direction, *own->reference);
  }
  Json shown{{"front", Json::array()}, {"reference", Json::array()}};
  for (const std::size_t place : nondominated(points)) shown["front"].push_back(positions[place]);
  for (std::size_t k = 0; k < reference.size(); ++k)
    shown["reference"].push_back(to_loss(source.study.objectives[k].direction, reference[k]));
  shown["volume"] = volumes(trials, points, positions, reference,
                            affordable_volumes(shown["front"].size(), reference.size()));
  return shown;
}

}  // namespace detol::inline report
