#include "scheduler/monitor/study_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "scheduler/proposals.h"
#include "surrogate/pareto.h"

namespace detol::inline scheduler {
namespace {

constexpr std::string_view kArchitecture = "architecture.";

}  // namespace

ViewCounts counts_of(const StudyState& state) {
  ViewCounts counts;
  for (const TrialRecord& record : state.trials()) {
    if (record.attempt == 0) {
      counts.untrained += record.is_over() ? 1 : 0;
      continue;
    }
    ++counts.trained;
    switch (record.state) {
      case TrialState::kWaiting:
        ++counts.waiting;
        break;
      case TrialState::kRunning:
        ++counts.running;
        break;
      case TrialState::kComplete:
        ++counts.complete;
        break;
      case TrialState::kPruned:
        ++counts.pruned;
        break;
      case TrialState::kFail:
        ++counts.failed;
        break;
    }
  }
  return counts;
}

bool StudyMonitor::may_foresee_end(const StudyState& state) const {
  constexpr int kLeastEnded = 3;
  const ViewCounts counts = counts_of(state);
  return !budget_.trials || counts.complete + counts.pruned + counts.failed >= kLeastEnded;
}

namespace {

// Shows four digits of a number, and of one near 1, such as a momentum of 0.99996, as many more as
// its distance from 1 needs.
std::string short_text(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return detol::to_text(value);
  const double tolerance = 1e-2 * std::abs(1 - *number);
  std::string text;
  for (int digits = 4; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    text = fmt::format("{:.{}g}", *number, digits);
    const bool is_near_one = std::abs(1 - *number) < 0.1;
    if (!is_near_one || std::abs(std::stod(text) - *number) <= tolerance) break;
  }
  return text;
}

// Returns the hyperparameters, then the choices of the architecture.
std::vector<std::pair<std::string, std::string>> params_of(const Genome& genome) {
  std::vector<std::pair<std::string, std::string>> params, architecture;
  for (const auto& [name, value] : genome.assignments()) {
    if (name.starts_with(kArchitecture))
      architecture.emplace_back(name.substr(kArchitecture.size()), short_text(value));
    else
      params.emplace_back(name, short_text(value));
  }
  params.insert(params.end(), architecture.begin(), architecture.end());
  return params;
}

std::optional<double> share_of(double train_s, double device_s) {
  if (device_s <= 0) return std::nullopt;
  return std::min(1.0, train_s / device_s);
}

}  // namespace

StudyMonitor::StudyMonitor(Study study, Clock& clock)
    : study_(std::move(study)),
      budget_(study_.budget),
      clock_(clock),
      wall_offset_s_(clock.wall_s() - clock.now_s()) {}

void StudyMonitor::take(const Event& event, bool is_now) {
  std::visit([&](const auto& e) { on(e, is_now); }, event);
}

void StudyMonitor::on(const event::Asked& asked, bool) {
  has_network_ = has_network_ || !asked.identity.empty() || asked.inherits;
}

void StudyMonitor::on(const event::Started& started, bool is_now) {
  Track& trial = track(started.trial);
  trial.worker = started.worker;
  trial.group_size = started.group_size;
  trial.started_s = trial.heard_s = is_now ? clock_.now_s() : moment(started.at_s);
}

void StudyMonitor::on(const event::Reported& reported, bool is_now) {
  Track& trial = track(reported.trial);
  const double train_s = reported.train_s / std::max(1, trial.group_size);
  trial.heard_s =
      is_now ? clock_.now_s() : std::min(trial.heard_s + train_s, moment(clock_.wall_s()));
  trial.curve.resize(static_cast<std::size_t>(reported.epoch),
                     std::numeric_limits<double>::quiet_NaN());
  for (const auto& [name, value] : reported.metrics) {
    if (name == study_.objectives.front().metric && !trial.curve.empty())
      trial.curve.back() = value;
  }
}

void StudyMonitor::on(const event::StudyState& changed, bool) {
  phase_ = changed.state;
  if (const auto budget = parse_budget(changed.budget)) budget_ = *budget;
}

double StudyMonitor::moment(double wall_s) const {
  return wall_s - wall_offset_s_;
}

StudyMonitor::Track& StudyMonitor::track(TrialId trial) {
  if (trial >= tracks_.size()) tracks_.resize(trial + 1);
  return tracks_[trial];
}

const StudyMonitor::Track& StudyMonitor::seen(TrialId trial) const {
  static const Track kNothing;
  return trial < tracks_.size() ? tracks_[trial] : kNothing;
}

int StudyMonitor::full_length(const TrialRecord& record) const {
  constexpr std::string_view kEpochs = "training.epochs";
  if (!record.trial.genome.is_active(kEpochs)) return study_.max_epochs;
  return static_cast<int>(record.trial.genome.number(kEpochs));
}

std::vector<Meter> StudyMonitor::used(const StudyState& state, Spent spent) const {
  spent.trials = state.spent().trials;
  spent.work = state.spent().work;
  for (const TrialState unfinished : {TrialState::kRunning, TrialState::kWaiting}) {
    for (const TrialId id : state.in_state(unfinished)) {
      const TrialRecord& record = *state.find(id);
      if (record.outcome || record.attempt == 0) continue;  // spent() counts it as a whole
      spent.trials -= 1 - std::min(1.0, record.epochs / full_length(record));
    }
  }
  return meters(budget_, spent);
}

std::vector<ViewTrial> StudyMonitor::running(const StudyState& state, double now_s) const {
  std::vector<ViewTrial> rows;
  for (const TrialId id : state.in_state(TrialState::kRunning)) {
    const TrialRecord& record = *state.find(id);
    const Track& track = seen(id);
    rows.push_back({.trial = id,
                    .worker = track.worker,
                    .epoch = static_cast<int>(record.epochs),
                    .epochs = full_length(record),
                    .curve = track.curve,
                    .in_epoch_s = std::max(0.0, now_s - track.heard_s),
                    .started_s = track.started_s});
  }
  return rows;
}

std::optional<ViewBest> StudyMonitor::best(const StudyState& state, double now_s) const {
  const TrialRecord* best = state.best();
  if (best == nullptr) return std::nullopt;
  std::vector<std::pair<std::string, double>> others;
  for (std::size_t i = 1; i < std::min(best->values.size(), study_.objectives.size()); ++i)
    others.emplace_back(study_.objectives[i].metric, best->values[i]);
  return ViewBest{.trial = best->trial.id,
                  .value = best->values.front(),
                  .others = std::move(others),
                  .ago_s = std::max(0.0, now_s - seen(best->trial.id).heard_s),
                  .params = params_of(best->trial.genome)};
}

// Trials that failed or break a constraint are not on it.
std::optional<ViewFront> StudyMonitor::front(const StudyState& state) const {
  const std::size_t count = study_.objectives.size();
  if (count < 2) return std::nullopt;
  std::vector<Losses> points;
  for (const TrialRecord& trial : state.trials()) {
    const bool is_scored = trial.values.size() == count && trial.state != TrialState::kFail;
    if (!is_scored || trial.breaks_constraints) continue;
    Losses losses;
    for (std::size_t i = 0; i < count; ++i)
      losses.push_back(to_loss(study_.objectives[i].direction, trial.values[i]));
    if (std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); }))
      points.push_back(std::move(losses));
  }
  const std::vector<Losses> best = front_of(points);
  if (best.empty()) return std::nullopt;
  ViewFront front{.trials = static_cast<int>(best.size()), .extents = {}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto [low, high] =
        std::ranges::minmax(best, {}, [i](const Losses& losses) { return losses[i]; });
    const auto [least, most] = std::minmax({to_loss(study_.objectives[i].direction, low[i]),
                                            to_loss(study_.objectives[i].direction, high[i])});
    front.extents.push_back({study_.objectives[i].metric, least, most});
  }
  return front;
}

double StudyMonitor::trained_s(const StudyState& state) const {
  double train_s = 0;
  for (const TrialRecord& trial : state.trials()) {
    train_s += trial.train_s * trial.group_size;
    if (trial.state != TrialState::kRunning) train_s += trial.unreported_s;
  }
  return train_s;
}

// Returns the device time of the epochs in progress, which may be long.
double StudyMonitor::in_progress_s(const StudyState& state, double now_s) const {
  double train_s = 0;
  for (const TrialId id : state.in_state(TrialState::kRunning))
    train_s += seen(id).group_size * std::max(0.0, now_s - seen(id).heard_s);
  return train_s;
}

View StudyMonitor::view(const StudyState& state, const Standing& standing) {
  const double now_s = clock_.now_s();
  const double in_progress = standing.is_alive ? in_progress_s(state, now_s) : 0;
  View view{.study = study_.name,
            .objectives = study_.objectives,
            .state = {},
            .notes = {},
            .meters = used(state, standing.spent),
            .elapsed_s = standing.spent.wall_s,
            .left_s = {},
            .counts = counts_of(state),
            .best = best(state, now_s),
            .front = front(state),
            .running = {},
            .utilization =
                share_of(trained_s(state) + in_progress, study_.sharing * standing.spent.device_s),
            .warnings = {}};
  keep({now_s, view.meters});
  if (standing.is_alive) view.running = running(state, now_s);
  describe(standing, view);
  const bool is_going = standing.is_alive && !standing.is_stopping && view.state.empty();
  if (!is_going || !may_foresee_end(state)) return view;
  const auto left_since = [&](const Moment& then) {
    return time_left(then.meters, view.meters, now_s - then.now_s);
  };
  const double first_s = moments_.front().now_s;
  view.left_s = left_since(moments_.front());
  view.left_now_s = left_since(moment_before(now_s - (now_s - first_s) / 3));
  return view;
}

// Moments a thirtieth of the time apart are enough to find the last third of it.
void StudyMonitor::keep(const Moment& moment) {
  constexpr double kApart = 30;
  if (!moments_.empty()) {
    const double elapsed_s = moment.now_s - moments_.front().now_s;
    if (moment.now_s - moments_.back().now_s < elapsed_s / kApart) return;
  }
  moments_.push_back(moment);
}

const StudyMonitor::Moment& StudyMonitor::moment_before(double now_s) const {
  const auto after = std::ranges::upper_bound(moments_, now_s, {}, &Moment::now_s);
  return after == moments_.begin() ? moments_.front() : *std::prev(after);
}

void StudyMonitor::describe(const Standing& standing, View& view) const {
  const std::string resume = fmt::format("resume with `detol resume {}`", study_.name);
  if (phase_ == StudyPhase::kDone) {
    view.state = "done";
  } else if (phase_ == StudyPhase::kStopped) {
    view.state = "stopped";
    if (!standing.is_alive) view.notes = {resume};
  } else if (!standing.is_alive) {
    view.state = "killed";
    view.notes = {resume};
  } else if (standing.is_stopping) {
    view.notes = {"stopping", resume, "Ctrl-C again ends at once"};
  }
}

std::string StudyMonitor::summary(const StudyState& state) const {
  const TrialRecord* best = state.best();
  if (best == nullptr) {
    const bool has_breakers = std::ranges::any_of(state.trials(), &TrialRecord::breaks_constraints);
    return has_breakers ? "no trial has kept the constraints yet"
                        : "no trial has reported a number yet";
  }
  const std::string text = fmt::format(
      "{}: trial {}, {} {}", study_.repeats > 0 ? "best measured value" : "best", best->trial.id,
      study_.objectives.front().metric, value_text(best->values.front()));
  const auto share = share_of(trained_s(state), study_.sharing * state.spent().device_s);
  const auto cheap = std::ranges::count(
      state.trials(), kFallback, [](const TrialRecord& trial) { return trial.trial.proposer; });
  return text + (share ? fmt::format("; utilization {:.0f} %", 100 * *share) : "") +
         (cheap > 0 ? fmt::format("; {} of {} proposals by a fallback, as the searcher was late",
                                  cheap, state.trials().size())
                    : "");
}

std::string StudyMonitor::hint() const {
  if (has_network_) return fmt::format("export it: `detol export {} --to onnx`", study_.name);
  return fmt::format("look at it: `detol best {}`", study_.name);
}

}  // namespace detol::inline scheduler
