#include "trainer/one_epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"

namespace detol::inline trainer {
namespace {

constexpr double kSliceS = 0.1;  // the most seconds until a wait notices a suspension

// Waits; returns false if it was suspended before the end.
bool wait(double seconds, Control& control) {
  const double end_s = system_clock().now_s() + seconds;
  for (;;) {
    if (control.suspend) return false;
    ++control.progress;
    const double left_s = end_s - system_clock().now_s();
    if (left_s <= 0) return true;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, kSliceS)));
  }
}

class OneEpoch final : public Evaluator {
 public:
  OneEpoch(Group& group, double seconds, Scorer scorer)
      : group_(group), seconds_(seconds), scorer_(std::move(scorer)) {}

  // The leader evaluates; the other ranks wait for its outcome.
  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    Evaluation evaluation{.end = Evaluation::End::kFinished, .reason = {}};
    if (group_.rank() == 0) evaluation = compute(job, report, control);
    const std::string end = group_.share(std::string(1, static_cast<char>(evaluation.end)));
    evaluation.end = static_cast<Evaluation::End>(end.front());
    return evaluation;
  }

 private:
  Evaluation compute(const Job& job, const Reporter& report, Control& control) const {
    if (job.acknowledged > 0) return {.end = Evaluation::End::kFinished, .reason = {}};
    const double start_s = system_clock().now_s();
    if (!wait(seconds_, control)) return {.end = Evaluation::End::kSuspended, .reason = {}};
    auto scored = scorer_(job);
    if (!scored)
      return {Evaluation::End::kFailed, scored.error().cause, std::move(scored.error().reason)};
    for (const Metric& metric : scored->metrics) {
      if (std::isfinite(metric.value)) continue;
      return {Evaluation::End::kFailed, Cause::kDiverged,
              fmt::format("{} is {} there", metric.name, metric.value)};
    }
    scored->epoch = 1;
    scored->train_s = system_clock().now_s() - start_s;
    const bool suspends = report(*scored, false) == Verdict::kSuspend;
    return {.end = suspends ? Evaluation::End::kSuspended : Evaluation::End::kFinished,
            .reason = {}};
  }

  Group& group_;
  const double seconds_;
  const Scorer scorer_;
};

}  // namespace

std::unique_ptr<Evaluator> make_one_epoch(Group& group, double seconds, Scorer scorer) {
  return std::make_unique<OneEpoch>(group, seconds, std::move(scorer));
}

}  // namespace detol::inline trainer
