#include "report/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/hash.h"
#include "core/json_text.h"
#include "knowledge/trial_rank.h"

namespace detol::inline report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// RowReader reads cells of a row by the names of columns; a view of an older detol may lack some.
class RowReader {
 public:
  explicit RowReader(const Rows& rows) : rows_(rows) {
    for (std::size_t i = 0; i < rows.columns.size(); ++i) columns_[rows.columns[i]] = i;
  }
  void at(std::size_t row) { row_ = row; }

  std::string text(const std::string& column) const {
    const Cell* found = cell(column);
    const auto* text = found != nullptr ? std::get_if<std::string>(found) : nullptr;
    return text != nullptr ? *text : std::string();
  }

  double number(const std::string& column) const {
    const Cell* found = cell(column);
    return found != nullptr ? cell_number(*found) : kNaN;
  }

  std::optional<double> moment(const std::string& column) const {
    const double number = this->number(column);
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  }

  Json object(const std::string& column) const {
    Json read = json_or_discarded<Json>(text(column));
    return read.is_object() ? read : Json::object();
  }

 private:
  const Cell* cell(const std::string& column) const {
    const auto found = columns_.find(column);
    return found != columns_.end() ? &rows_.rows[row_][found->second] : nullptr;
  }

  const Rows& rows_;
  std::unordered_map<std::string, std::size_t> columns_;
  std::size_t row_ = 0;
};

double zero_if_unknown(double number) {
  return std::isfinite(number) ? number : 0;
}

std::vector<double> values_in(const Json& metrics, std::span<const Objective> objectives) {
  std::vector<double> values;
  for (const Objective& objective : objectives) {
    const auto found = metrics.find(objective.metric);
    values.push_back(found != metrics.end() && found->is_number() ? found->get<double>() : kNaN);
  }
  return values;
}

ShownTrial trial_in(const RowReader& row, std::span<const Objective> objectives, bool has_params) {
  ShownTrial trial{.trial = static_cast<TrialId>(row.number("trial")),
                   .state = row.text("state"),
                   .failure = row.text("failure"),
                   .reason = row.text("reason"),
                   .algorithm = row.text("algorithm"),
                   .candidate = hash64(row.text("params_json"), hash64(row.text("arch_hash"))),
                   .values = values_in(row.object("values_json"), objectives),
                   .params = has_params ? row.object("params_json") : Json(),
                   .params_count = row.number("params"),
                   .flops = row.number("flops"),
                   .epochs = zero_if_unknown(row.number("epochs")),
                   .device_s = zero_if_unknown(row.number("device_seconds")),
                   .started_s = row.moment("started"),
                   .finished_s = row.moment("finished"),
                   .attempts = {},
                   .curve = {}};
  trial.is_scored = trial.epochs > 0 && trial.state != "FAIL" && !trial.values.empty() &&
                    std::isfinite(trial.values.front()) && row.number("feasible") != 0;
  return trial;
}

// EventReader adds what only the events tell: who trained a trial when, and its learning curve.
class EventReader {
 public:
  EventReader(std::vector<ShownTrial>& trials, const Objective* objective)
      : trials_(trials), objective_(objective) {}

  void operator()(const event::Started& started) {
    if (ShownTrial* trial = find(started.trial))
      trial->attempts.push_back({started.worker, started.at_s, started.at_s});
  }

  void operator()(const event::Reported& reported) {
    ShownTrial* trial = find(reported.trial);
    if (trial == nullptr) return;
    trial->work = std::max(trial->work, reported.work);
    if (!trial->attempts.empty()) trial->attempts.back().until_s += reported.train_s;
    if (objective_ == nullptr) return;
    const auto metric =
        std::ranges::find(reported.metrics, objective_->metric,
                          [](const auto& named) -> const std::string& { return named.first; });
    if (metric != reported.metrics.end())
      trial->curve.push_back({reported.epochs(), metric->second});
  }

  void operator()(const event::Told& told) {
    ShownTrial* trial = find(told.trial);
    if (trial == nullptr || trial->attempts.empty()) return;
    ShownAttempt& last = trial->attempts.back();
    if (told.at_s > last.from_s) last.until_s = told.at_s;
  }

  // The moment is not recorded: the attempt lasted as long as it trained.
  void operator()(const event::Requeued& requeued) {
    ShownTrial* trial = find(requeued.trial);
    if (trial != nullptr && !trial->attempts.empty())
      trial->attempts.back().until_s += requeued.unreported_s;
  }

  template <typename Other>
  void operator()(const Other&) {}

 private:
  ShownTrial* find(TrialId id) {
    return id < trials_.size() && trials_[id].trial == id ? &trials_[id] : nullptr;
  }

  std::vector<ShownTrial>& trials_;
  const Objective* objective_;
};

}  // namespace

std::vector<ShownTrial> trials_in(const Rows& rows, std::span<const Objective> objectives,
                                  bool has_params) {
  std::vector<ShownTrial> trials;
  trials.reserve(rows.rows.size());
  RowReader row(rows);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    row.at(i);
    trials.push_back(trial_in(row, objectives, has_params));
  }
  return trials;
}

std::vector<ShownTrial> shown_trials(const ReportSource& source) {
  std::vector<ShownTrial> trials = trials_in(source.trials, source.study.objectives, true);
  const auto& objectives = source.study.objectives;
  EventReader reader(trials, objectives.empty() ? nullptr : &objectives.front());
  for (const Event& event : source.events) std::visit(reader, event);
  return trials;
}

double last_moment(const ReportSource& source, const std::vector<ShownTrial>& trials) {
  double last_s = source.study.created_s;
  const auto later = [&](double at_s) { last_s = std::max(last_s, at_s); };
  for (const Event& event : source.events) {
    if (const auto* asked = std::get_if<event::Asked>(&event)) later(asked->at_s);
    if (const auto* state = std::get_if<event::StudyState>(&event)) later(state->at_s);
  }
  for (const ShownTrial& trial : trials) {
    if (!trial.attempts.empty()) later(trial.attempts.back().from_s);
    if (trial.finished_s) later(*trial.finished_s);
  }
  return last_s;
}

std::vector<std::size_t> ranked(const ReportSource& source, const std::vector<ShownTrial>& trials) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].is_scored) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto rank_of = [&](std::size_t i) {
      return TrialRank{trials[i].values.front(), trials[i].state == "COMPLETE", trials[i].trial};
    };
    return is_before(source.study.objectives.front().direction, rank_of(a), rank_of(b));
  });
  return order;
}

std::vector<std::size_t> by_end(const std::vector<ShownTrial>& trials) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].finished_s) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *trials[i].finished_s; });
  return order;
}

std::vector<std::size_t> thinned(std::size_t count, std::size_t limit,
                                 const std::vector<std::size_t>& kept) {
  const std::size_t room = limit > kept.size() ? limit - kept.size() : 1;
  const std::size_t stride = std::max<std::size_t>(1, (count + room - 1) / room);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0, next = 0; i < count; ++i) {
    while (next < kept.size() && kept[next] < i) ++next;
    if (i % stride == 0 || (next < kept.size() && kept[next] == i)) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace detol::inline report
