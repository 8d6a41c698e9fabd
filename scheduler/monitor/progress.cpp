#include "scheduler/monitor/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"

namespace detol::inline scheduler {
namespace {

constexpr double kQuietS = 1;      // between two lines on trials that were not trained
constexpr double kIntervalS = 10;  // between two lines that count trials

class ProgressLines final : public Progress {
 public:
  ProgressLines(const StudyMonitor::Study& study, Clock& clock, LinesFor lines)
      : Progress(study, clock), clock_(clock), lines_(lines), said_s_(clock.now_s()) {}

  void happened(const Event& event, const StudyState& state) override {
    monitor_.happened(event);
    std::visit([&](const auto& e) { on(e, state); }, event);
  }

 private:
  void on(const event::Asked&, const StudyState&) {}
  void on(const event::Accounted&, const StudyState& state) {
    if (!first_) first_ = Moment{clock_.now_s(), monitor_.used(state, state.spent())};
  }
  void on(const event::Refit&, const StudyState&) {}
  void on(const event::AlgorithmChosen&, const StudyState&) {}
  void on(const event::Source&, const StudyState&) {}
  void on(const event::Model&, const StudyState&) {}
  void on(const event::StudyState&, const StudyState&) {}

  void on(const event::Started& started, const StudyState& state) {
    say(state, fmt::format("trial {} {} on {}", started.trial,
                           started.attempt == 1 ? "starts" : "resumed", started.worker));
  }

  void on(const event::Reported& reported, const StudyState& state) {
    std::string metrics;
    for (const Objective& objective : state.objectives()) {
      for (const auto& [name, value] : reported.metrics) {
        if (name == objective.metric) metrics += fmt::format(" {} {}", name, value_text(value));
      }
    }
    const double clock_s = reported.train_s / state.find(reported.trial)->group_size;
    say(state, fmt::format("trial {} epoch {:.3g}:{} ({:.1f} s)", reported.trial, reported.epochs(),
                           metrics, clock_s));
  }

  void on(const event::Told& told, const StudyState& state) {
    const TrialRecord& trial = *state.find(told.trial);
    if (trial.attempt == 0) {  // not trained: there may be hundreds in a second
      if (clock_.now_s() - untrained_s_ < kQuietS) return;
      untrained_s_ = clock_.now_s();
    }
    std::string line = fmt::format("trial {} {}", told.trial, to_text(told.state));
    if (const auto cause = cause_of(told.outcome)) line += fmt::format(" {}", to_text(*cause));
    if (const std::string why = to_text(told.reason); !why.empty()) line += ": " + why;
    say(state, line);
  }

  void on(const event::Requeued& requeued, const StudyState& state) {
    const double epochs = state.find(requeued.trial)->epochs;
    if (requeued.reason.cause == RequeueCause::kPromoted)
      say(state, fmt::format("trial {} promoted after epoch {:.3g}", requeued.trial, epochs));
    else
      say(state, fmt::format("trial {} requeued: {}", requeued.trial, to_text(requeued.reason)));
  }

  // Returns "41 trials: 12 complete, 25 pruned, 1 failed, 3 running" without what there is none of.
  static std::string counts_text(const ViewCounts& counts) {
    std::string text;
    for (const auto& [name, count] :
         {std::pair("complete", counts.complete), std::pair("pruned", counts.pruned),
          std::pair("failed", counts.failed), std::pair("running", counts.running),
          std::pair("waiting", counts.waiting)}) {
      if (count > 0) text += fmt::format("{} {} {}", text.empty() ? ":" : ",", count, name);
    }
    return fmt::format("{} trial{}{}", counts.trained, counts.trained == 1 ? "" : "s", text);
  }

  void say(const StudyState& state, const std::string& event) {
    if (lines_ == LinesFor::kTime) {
      if (clock_.now_s() - said_s_ < kIntervalS) return;
      said_s_ = clock_.now_s();
    }
    const std::string what = lines_ == LinesFor::kTime
                                 ? counts_text(counts_of(state))
                                 : fmt::format("{} | {} running", event, state.running());
    std::string line;
    const std::vector<Meter> used = monitor_.used(state, state.spent());
    double share = 0;
    for (const Meter& meter : used) share = std::max(share, meter.used / meter.limit);
    if (!used.empty()) line += fmt::format("{:3.0f} % ", std::min(share, 1.0) * 100);
    line += fmt::format("| {}", what);
    if (const TrialRecord* best = state.best()) {
      line += fmt::format(" | best {} {} (trial {})", state.objectives().front().metric,
                          value_text(best->values.front()), best->trial.id);
    }
    const auto left_s = monitor_.may_foresee_end(state) ? left(used) : std::nullopt;
    if (left_s) line += " | ETA " + duration_text(*left_s);
    log_info("{}", line);
  }

  // Returns the seconds left at the pace of this run so far.
  std::optional<double> left(std::span<const Meter> used) const {
    if (!first_) return std::nullopt;
    return time_left(first_->meters, used, clock_.now_s() - first_->now_s);
  }

  struct Moment {
    double now_s = 0;
    std::vector<Meter> meters;
  };

  Clock& clock_;
  const LinesFor lines_;
  double said_s_;
  std::optional<Moment> first_;
  double untrained_s_ = -1e9;
};

}  // namespace

void Progress::end(const std::string& why, const StudyState& state) {
  give_back();
  if (!why.empty()) log_info("study {}: {}", monitor_.name(), why);
  if (!shows_the_best()) log_info("{}", monitor_.summary(state));
  if (state.best() != nullptr) log_info("{}", monitor_.hint());
}

std::unique_ptr<Progress> make_progress_lines(const StudyMonitor::Study& study, Clock& clock,
                                              LinesFor lines) {
  return std::make_unique<ProgressLines>(study, clock, lines);
}

}  // namespace detol::inline scheduler
