#include "scheduler/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "core/log.h"

namespace detol {
namespace {

constexpr double kShareForAPace = 0.01;  // of the budget, before an ETA is worth printing
constexpr double kQuietS = 1;            // refusals and the like come at most this often

std::string duration(double seconds) {
  const auto s = static_cast<long>(std::lround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

class ProgressLines final : public Observer {
 public:
  ProgressLines(const Budget& budget, Clock& clock) : budget_(budget), clock_(clock) {}

  void happened(const Event& event, const Book& book) override {
    std::visit([&](const auto& e) { on(e, book); }, event);
  }

 private:
  void on(const event::Asked&, const Book&) {}
  void on(const event::Accounted&, const Book& book) {
    if (!first_) first_ = Moment{clock_.now_s(), budget_.used(book.spent())};
  }
  void on(const event::StudyState&, const Book&) {}

  void on(const event::Started& started, const Book& book) {
    say(book, fmt::format("trial {} {} on {}", started.trial,
                          started.attempt == 1 ? "starts" : "goes on", started.worker));
  }

  void on(const event::Reported& reported, const Book& book) {
    std::string metrics;
    for (const Objective& objective : book.objectives()) {
      for (const auto& [name, value] : reported.metrics) {
        if (name == objective.metric) metrics += fmt::format(" {} {:.4f}", name, value);
      }
    }
    say(book, fmt::format("trial {} epoch {}:{} ({:.1f} s)", reported.trial, reported.epoch,
                          metrics, reported.train_s));
  }

  void on(const event::Told& told, const Book& book) {
    const TrialEntry& trial = *book.find(told.trial);
    if (trial.attempt == 0) {  // without training: there may be hundreds in a second
      if (clock_.now_s() - untrained_s_ < kQuietS) return;
      untrained_s_ = clock_.now_s();
    }
    std::string line = fmt::format("trial {} {}", told.trial, told.state);
    if (!told.failure.empty()) line += " " + told.failure;
    if (!told.reason.empty()) line += ": " + told.reason;
    say(book, line);
  }

  void on(const event::Requeued& requeued, const Book& book) {
    say(book, fmt::format("trial {} waits again: {}", requeued.trial, requeued.reason));
  }

  void say(const Book& book, const std::string& what) const {
    std::string line;
    const double used = budget_.used(book.spent());
    if (!budget_.is_unlimited()) line += fmt::format("{:3.0f} % ", std::min(used, 1.0) * 100);
    line += fmt::format("| {}", what);
    line += fmt::format(" | {} running", book.running());
    if (const TrialEntry* best = book.best()) {
      line += fmt::format(" | best {} {:.4f} (trial {})", book.objectives().front().metric,
                          best->values.front(), best->trial.id);
    }
    if (const auto left_s = time_left(used)) line += " | ETA " + duration(*left_s);
    log_info("{}", line);
  }

  // By the pace of this run so far.
  std::optional<double> time_left(double used) const {
    if (!first_ || used < first_->used + kShareForAPace || used >= 1) return std::nullopt;
    const double pace = (clock_.now_s() - first_->now_s) / (used - first_->used);
    return pace * (1 - used);
  }

  struct Moment {
    double now_s = 0;
    double used = 0;
  };

  const Budget budget_;
  Clock& clock_;
  std::optional<Moment> first_;
  double untrained_s_ = -1e9;
};

}  // namespace

std::unique_ptr<Observer> make_progress_lines(const Budget& budget, Clock& clock) {
  return std::make_unique<ProgressLines>(budget, clock);
}

}  // namespace detol
