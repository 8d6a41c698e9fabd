#include "report/live_trials.h"

#include <algorithm>
#include <cmath>

#include "report/panels.h"

namespace detol::inline report {
namespace {

constexpr std::size_t kBestDrawn = 400, kOthersDrawn = 1600, kFrontDrawn = 500;
constexpr std::size_t kBestWithCurve = 60, kMostWithCurve = 200;

// Returns the first `most` of the list, ascending and with the others of it spread evenly.
std::vector<std::size_t> best_and_spread(std::vector<std::size_t> best, std::size_t most,
                                         const std::vector<std::size_t>& all, std::size_t limit) {
  best.resize(std::min(best.size(), most));
  std::ranges::sort(best);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < all.size(); ++place)
    if (std::ranges::binary_search(best, all[place])) places.push_back(place);
  std::vector<std::size_t> chosen;
  for (const std::size_t place : thinned(all.size(), limit, places)) chosen.push_back(all[place]);
  return chosen;
}

std::vector<TrialId> as_ids(const std::vector<std::size_t>& positions) {
  return {positions.begin(), positions.end()};
}

}  // namespace

struct LiveTrials::State {
  Trials trials;  // without choices and curves
};

LiveTrials::LiveTrials() : state_(std::make_unique<State>()) {}
LiveTrials::~LiveTrials() = default;
LiveTrials::LiveTrials(LiveTrials&&) noexcept = default;

void LiveTrials::take(const Rows& trials, const Rows& attempts,
                      const std::vector<Objective>& objectives) {
  Trials& all = state_->trials;
  for (ShownTrial& trial : trials_in(trials, objectives, false)) {
    const auto at = static_cast<std::size_t>(trial.trial);
    if (at == all.size()) all.emplace_back();
    if (at < all.size()) all[at] = std::move(trial);
  }
  for (const auto& row : attempts.rows) {
    const auto at = static_cast<std::size_t>(cell_number(row[0]));
    const double started_s = cell_number(row[2]);
    if (at >= all.size() || !std::isfinite(started_s)) continue;
    const auto* worker = std::get_if<std::string>(&row[1]);
    all[at].attempts.push_back(
        {worker != nullptr ? *worker : "", started_s, started_s + cell_number(row[3])});
    const double work = cell_number(row[4]);
    if (work > all[at].work) all[at].work = work;
    if (all[at].finished_s)
      all[at].attempts.back().until_s =
          std::max(all[at].attempts.back().until_s, *all[at].finished_s);
  }
}

std::size_t LiveTrials::size() const {
  return state_->trials.size();
}

std::vector<TrialId> LiveTrials::best(const ReportSource& source, std::size_t most) const {
  std::vector<std::size_t> order = ranked(source, state_->trials);
  order.resize(std::min(order.size(), most));
  return as_ids(order);
}

std::vector<TrialId> LiveTrials::spread(std::size_t most) const {
  std::vector<TrialId> ended;
  for (const ShownTrial& trial : state_->trials)
    if (trial.is_scored && trial.finished_s) ended.push_back(trial.trial);
  std::vector<TrialId> chosen;
  for (const std::size_t place : thinned(ended.size(), most)) chosen.push_back(ended[place]);
  return chosen;
}

std::vector<TrialId> LiveTrials::drawn(const ReportSource& source) const {
  const Trials& trials = state_->trials;
  std::vector<std::size_t> all(trials.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<std::size_t> chosen =
      best_and_spread(ranked(source, trials), kBestDrawn, all, kBestDrawn + kOthersDrawn);
  if (!trials.empty()) chosen.push_back(trials.size() - 1);
  const auto front = pareto_trials(source, trials);
  for (const std::size_t place : thinned(front.size(), kFrontDrawn)) chosen.push_back(front[place]);
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return as_ids(chosen);
}

std::vector<TrialId> LiveTrials::with_curves(const ReportSource& source) const {
  std::vector<std::size_t> reported;
  for (std::size_t i = 0; i < state_->trials.size(); ++i)
    if (state_->trials[i].epochs > 0) reported.push_back(i);
  return as_ids(
      best_and_spread(ranked(source, state_->trials), kBestWithCurve, reported, kMostWithCurve));
}

Json LiveTrials::model(const ReportSource& source, const Rows& drawn, const Rows& curves) {
  Trials& trials = state_->trials;
  std::vector<TrialId> ids;
  for (ShownTrial& row : trials_in(drawn, source.study.objectives, true)) {
    if (row.trial >= trials.size()) continue;
    ids.push_back(row.trial);
    trials[row.trial].params = std::move(row.params);
  }
  Trials some;
  for (const TrialId id : ids) some.push_back(trials[id]);
  for (const auto& row : curves.rows) {
    const auto at = static_cast<std::size_t>(cell_number(row[0]));
    if (at < trials.size()) trials[at].curve.push_back({cell_number(row[1]), cell_number(row[2])});
  }
  Json model = model_with(source, trials, some);
  for (const TrialId id : ids) trials[id].params = Json();
  for (ShownTrial& trial : trials) std::vector<ShownPoint>().swap(trial.curve);
  return model;
}

std::vector<TrialId> LiveTrials::page(const ReportSource& source, const TrialQuery& query,
                                      std::size_t& matching) const {
  const std::vector<std::size_t> order = page_of_trials(source, state_->trials, query, matching);
  return as_ids(order);
}

Json trial_table(const ReportSource& source, const std::vector<TrialId>& order, const Rows& rows) {
  Trials found = trials_in(rows, source.study.objectives, true);
  Trials some;
  for (const TrialId id : order) {
    const auto at = std::ranges::find(found, id, &ShownTrial::trial);
    if (at != found.end()) some.push_back(std::move(*at));
  }
  Json columns = trial_columns(source, some);
  columns["choices"] = Json::array();
  for (ShownTrial& trial : some) columns["choices"].push_back(std::move(trial.params));
  return columns;
}

}  // namespace detol::inline report
