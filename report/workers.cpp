#include <algorithm>
#include <map>

#include "report/card.h"
#include "report/panels.h"

namespace detol::inline report {
namespace {

constexpr std::size_t kMostBars = 3000;
constexpr std::size_t kMostMoments = 400;

// Bar: a worker trained a trial, or several of one state in a row, seconds since the study began.
struct Bar {
  std::string worker;
  std::string state;
  double from_s = 0, until_s = 0;
  TrialId first = 0, last = 0;
};

struct Span {
  double from_s = 0, until_s = 0;  // seconds since 1970
};

std::vector<Bar> bars_of(const Trials& trials, double t0_s) {
  std::vector<Bar> bars;
  for (const ShownTrial& trial : trials) {
    for (std::size_t i = 0; i < trial.attempts.size(); ++i) {
      const ShownAttempt& attempt = trial.attempts[i];
      const bool is_last = i + 1 == trial.attempts.size();
      bars.push_back({attempt.worker, is_last ? trial.state : "WAITING", attempt.from_s - t0_s,
                      attempt.until_s - t0_s, trial.trial, trial.trial});
    }
  }
  std::ranges::sort(bars, [](const Bar& a, const Bar& b) {
    return a.worker != b.worker ? a.worker < b.worker : a.from_s < b.from_s;
  });
  return bars;
}

// Joins neighbours of one worker and state with no more than `gap_s` between them.
std::vector<Bar> joined(const std::vector<Bar>& bars, double gap_s) {
  std::vector<Bar> out;
  for (const Bar& bar : bars) {
    const bool fits = !out.empty() && out.back().worker == bar.worker &&
                      out.back().state == bar.state && bar.from_s - out.back().until_s <= gap_s;
    if (!fits) {
      out.push_back(bar);
      continue;
    }
    out.back().until_s = std::max(out.back().until_s, bar.until_s);
    out.back().last = bar.last;
  }
  return out;
}

// Joins bars with ever wider gaps until they are few enough to draw.
std::vector<Bar> few_enough(std::vector<Bar> bars) {
  double span_s = 1;
  for (const Bar& bar : bars) span_s = std::max(span_s, bar.until_s);
  for (double gap_s = span_s / 4000; bars.size() > kMostBars && gap_s < span_s; gap_s *= 2)
    bars = joined(bars, gap_s);
  if (bars.size() <= kMostBars) return bars;
  std::vector<Bar> some;
  for (const std::size_t i : thinned(bars.size(), kMostBars)) some.push_back(bars[i]);
  return some;
}

// Returns the last moment of a trial before `until_s`, or `first_s`.
double last_before(const Trials& trials, double until_s, double first_s) {
  double last_s = first_s;
  const auto later = [&](double at_s) {
    if (at_s <= until_s) last_s = std::max(last_s, at_s);
  };
  for (const ShownTrial& trial : trials) {
    for (const ShownAttempt& attempt : trial.attempts) later(attempt.from_s);
    if (trial.finished_s) later(*trial.finished_s);
  }
  return last_s;
}

// Returns when the study was run; a run that was killed ended with its last event.
std::vector<Span> runs_of(const ReportSource& source, const Trials& trials) {
  std::vector<Span> runs;
  bool is_open = false;
  for (const Event& event : source.events) {
    const auto* state = std::get_if<event::StudyState>(&event);
    if (state == nullptr) continue;
    const bool begins = state->state == StudyPhase::kRunning;
    if (is_open) {
      double& until_s = runs.back().until_s;
      until_s = begins ? last_before(trials, state->at_s, until_s) : std::max(until_s, state->at_s);
    }
    if (begins) runs.push_back({state->at_s, state->at_s});
    is_open = begins;
  }
  const double last_s = last_moment(source, trials);
  if (is_open) runs.back().until_s = std::max(runs.back().from_s, last_s);
  if (runs.empty()) runs.push_back({source.study.created_s, last_s});
  return runs;
}

double length_of(const std::vector<Span>& spans, double until_s) {
  double length_s = 0;
  for (const Span& span : spans)
    length_s += std::max(0.0, std::min(span.until_s, until_s) - span.from_s);
  return length_s;
}

// Returns the share of the time of all runs that each worker trained.
Json busy_rows(const std::vector<Bar>& bars, double run_s) {
  struct Busy {
    double busy_s = 0;
    std::int64_t attempts = 0;
  };
  std::map<std::string, Busy> by_worker;
  for (const Bar& bar : bars) {
    by_worker[bar.worker].busy_s += bar.until_s - bar.from_s;
    ++by_worker[bar.worker].attempts;
  }
  Json rows = Json::array();
  for (const auto& [worker, busy] : by_worker)
    rows.push_back({{"worker", worker},
                    {"attempts", busy.attempts},
                    {"busy_s", busy.busy_s},
                    {"share", run_s > 0 ? Json(std::min(1.0, busy.busy_s / run_s)) : Json()}});
  return rows;
}

Json bar_columns(const std::vector<Bar>& bars) {
  Json columns{{"worker", Json::array()},   {"state", Json::array()}, {"from_s", Json::array()},
               {"length_s", Json::array()}, {"first", Json::array()}, {"last", Json::array()}};
  for (const Bar& bar : bars) {
    columns["worker"].push_back(bar.worker);
    columns["state"].push_back(bar.state);
    columns["from_s"].push_back(bar.from_s);
    columns["length_s"].push_back(bar.until_s - bar.from_s);
    columns["first"].push_back(bar.first);
    columns["last"].push_back(bar.last);
  }
  return columns;
}

}  // namespace

Json workers(const ReportSource& source, const Trials& trials) {
  const std::vector<Bar> bars = bars_of(trials, source.study.created_s);
  if (bars.empty()) return {{"why", "No worker has trained a trial of this study."}};
  const Spent spent = spent_by(source, trials);
  double training_s = 0;
  for (const ShownTrial& trial : trials) training_s += trial.device_s;
  const double run_s = length_of(runs_of(source, trials), last_moment(source, trials));
  return {{"bars", bar_columns(few_enough(bars))},
          {"busy", busy_rows(bars, run_s)},
          {"utilization",
           spent.device_s > 0 ? Json(std::min(1.0, training_s / spent.device_s)) : Json()}};
}

Json budget_left(const ReportSource& source, const Trials& trials) {
  const auto budget = parse_budget(source.study.budget);
  const std::vector<std::size_t> order = by_end(trials);
  if (!budget || budget->is_unlimited()) return {{"why", "The study has no budget."}};
  if (order.empty()) return {{"why", "No trial has ended yet."}};
  const std::vector<Span> runs = runs_of(source, trials);
  const double t0_s = source.study.created_s;
  Json limits = Json::array();
  for (const Meter& meter : meters(*budget, spent_by(source, trials)))
    limits.push_back({{"unit", meter.unit},
                      {"limit", meter.limit},
                      {"used", meter.used},
                      {"wall_s", {0}},
                      {"left", {meter.limit}}});
  Spent spent;
  std::vector<Spent> after;
  for (const std::size_t i : order) {
    spent.wall_s = length_of(runs, *trials[i].finished_s);
    spent.device_s += trials[i].device_s;
    if (!trials[i].attempts.empty()) ++spent.trials;
    spent.work += trials[i].work;
    after.push_back(spent);
  }
  for (const std::size_t i : thinned(order.size(), kMostMoments, {order.size() - 1})) {
    const auto now = meters(*budget, after[i]);
    for (std::size_t k = 0; k < now.size(); ++k) {
      limits[k]["wall_s"].push_back(std::max(0.0, *trials[order[i]].finished_s - t0_s));
      limits[k]["left"].push_back(std::max(0.0, now[k].limit - now[k].used));
    }
  }
  for (Json& limit : limits) {
    limit["wall_s"].push_back(std::max(0.0, last_moment(source, trials) - t0_s));
    limit["left"].push_back(
        std::max(0.0, limit["limit"].get<double>() - limit["used"].get<double>()));
  }
  return {{"limits", limits}};
}

}  // namespace detol::inline report
