#include "scheduler/onlooker.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace detol {
namespace {

constexpr std::string_view kArchitecture = "architecture.";

ViewCounts counts_of(const Book& book) {
  ViewCounts counts;
  for (const TrialEntry& entry : book.trials()) {
    if (entry.attempt == 0) {
      counts.untrained += entry.is_over() ? 1 : 0;
      continue;
    }
    ++counts.trained;
    switch (entry.state) {
      case TrialState::kWaiting:
        ++counts.paused;
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

std::string short_text(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? fmt::format("{:.3g}", *number) : to_text(value);
}

// Hyperparameters first, the architecture's choices after them.
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

}  // namespace

Onlooker::Onlooker(Study study, Clock& clock)
    : study_(std::move(study)),
      budget_(study_.budget),
      clock_(clock),
      wall_offset_s_(clock.wall_s() - clock.now_s()) {}

void Onlooker::take(const Event& event, bool is_now) {
  std::visit([&](const auto& e) { on(e, is_now); }, event);
}

void Onlooker::on(const event::Asked& asked, bool) {
  has_network_ = has_network_ || !asked.arch_hash.empty();
}

void Onlooker::on(const event::Started& started, bool is_now) {
  Track& trial = track(started.trial);
  trial.worker = started.worker;
  trial.group_size = started.group_size;
  trial.started_s = trial.heard_s = is_now ? clock_.now_s() : moment(started.at_s);
}

void Onlooker::on(const event::Reported& reported, bool is_now) {
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

void Onlooker::on(const event::StudyState& state, bool) {
  state_ = state.state;
  if (const auto budget = parse_budget(state.budget)) budget_ = *budget;
}

double Onlooker::moment(double wall_s) const {
  return wall_s - wall_offset_s_;
}

Onlooker::Track& Onlooker::track(TrialId trial) {
  if (trial >= tracks_.size()) tracks_.resize(trial + 1);
  return tracks_[trial];
}

const Onlooker::Track& Onlooker::seen(TrialId trial) const {
  static const Track kNothing;
  return trial < tracks_.size() ? tracks_[trial] : kNothing;
}

int Onlooker::full_length(const TrialEntry& entry) const {
  constexpr std::string_view kEpochs = "training.epochs";
  if (!entry.trial.genome.is_active(kEpochs)) return study_.max_epochs;
  return static_cast<int>(entry.trial.genome.number(kEpochs));
}

// A running trial counts as much as it is trained, so that a budget in trials fills evenly.
Spent Onlooker::smooth(const Book& book, Spent spent) const {
  spent.trials = book.spent().trials;
  spent.work = book.spent().work;
  for (const TrialId id : book.in_state(TrialState::kRunning)) {
    const TrialEntry& entry = *book.find(id);
    spent.trials -= 1 - std::min(1.0, static_cast<double>(entry.epochs) / full_length(entry));
  }
  return spent;
}

std::vector<ViewTrial> Onlooker::running(const Book& book, double now_s) const {
  std::vector<ViewTrial> rows;
  for (const TrialId id : book.in_state(TrialState::kRunning)) {
    const TrialEntry& entry = *book.find(id);
    const Track& track = seen(id);
    rows.push_back({.trial = id,
                    .worker = track.worker,
                    .epoch = entry.epochs,
                    .epochs = full_length(entry),
                    .curve = track.curve,
                    .in_epoch_s = std::max(0.0, now_s - track.heard_s),
                    .started_s = track.started_s});
  }
  return rows;
}

std::optional<ViewBest> Onlooker::best(const Book& book, double now_s) const {
  const TrialEntry* best = book.best();
  if (best == nullptr) return std::nullopt;
  return ViewBest{.trial = best->trial.id,
                  .value = best->values.front(),
                  .ago_s = std::max(0.0, now_s - seen(best->trial.id).heard_s),
                  .params = params_of(best->trial.genome)};
}

// The epochs in progress count as training, too: they may be long.
std::optional<double> Onlooker::utilisation(const Book& book, const Spent& spent,
                                            double now_s) const {
  if (spent.device_s <= 0) return std::nullopt;
  double train_s = 0;
  for (const TrialEntry& entry : book.trials()) train_s += entry.train_s;
  for (const TrialId id : book.in_state(TrialState::kRunning))
    train_s += seen(id).group_size * std::max(0.0, now_s - seen(id).heard_s);
  return train_s / spent.device_s;
}

View Onlooker::view(const Book& book, const Standing& standing) {
  const double now_s = clock_.now_s();
  View view{.study = study_.name,
            .objective = study_.objectives.front(),
            .state = {},
            .notes = {},
            .meters = meters(budget_, smooth(book, standing.spent)),
            .elapsed_s = standing.spent.wall_s,
            .left_s = {},
            .counts = counts_of(book),
            .best = best(book, now_s),
            .running = running(book, now_s),
            .utilisation = utilisation(book, standing.spent, now_s),
            .warnings = {}};
  if (!first_) first_ = Moment{now_s, view.meters};
  if (state_ == "DONE") {
    view.state = "done";
  } else if (state_ == "STOPPED") {
    view.state = "stopped";
    view.notes = {fmt::format("`detol resume {}` goes on", study_.name)};
  } else if (standing.is_stopping) {
    view.notes = {"stopping", fmt::format("`detol resume {}` goes on", study_.name),
                  "Ctrl-C again ends at once"};
  } else {
    view.left_s = time_left(first_->meters, view.meters, now_s - first_->now_s);
  }
  return view;
}

std::string Onlooker::summary(const Book& book, const Spent& spent) const {
  std::string text = "no trial has a report yet";
  if (const TrialEntry* best = book.best()) {
    text =
        fmt::format("best: trial {}, {} {}; `detol {} {}{}` {}", best->trial.id,
                    study_.objectives.front().metric, value_text(best->values.front()),
                    has_network_ ? "export" : "best", study_.name, has_network_ ? " --to onnx" : "",
                    has_network_ ? "takes it away" : "shows it");
  }
  const auto share = utilisation(book, spent, clock_.now_s());
  if (!share) return text;
  return fmt::format("{}; devices {:.0f} % busy", text, 100 * std::min(1.0, *share));
}

}  // namespace detol
