#include "trainer/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/table.h"
#include "trainer/formulas.h"

namespace detol {
namespace {

constexpr double kSliceS = 0.1;  // of a wait: how soon it hears that it shall end

// False if it was asked to end before.
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

class Function final : public Evaluator {
 public:
  Function(std::string name, std::vector<std::string_view> metrics, Landscape landscape,
           Group& group)
      : name_(std::move(name)),
        metrics_(std::move(metrics)),
        landscape_(std::move(landscape)),
        group_(group) {}

  // The leader does it all; the others wait for what came of it.
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
    if (!wait(landscape_.seconds, control))
      return {.end = Evaluation::End::kSuspended, .reason = {}};
    const std::vector<double> values = landscape_.values(job.genome);
    EpochReport done{.epoch = 1, .metrics = {}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        return {Evaluation::End::kFailed, Cause::kDiverged,
                fmt::format("{} is {} there", name_, values[i])};
      }
      done.metrics.push_back({std::string(metrics_[i]), values[i]});
    }
    done.train_s = system_clock().now_s() - start_s;
    const Verdict verdict = report(done);
    const bool suspends = verdict == Verdict::kSuspend;
    return {.end = suspends ? Evaluation::End::kSuspended : Evaluation::End::kFinished,
            .reason = {}};
  }

  const std::string name_;
  const std::vector<std::string_view> metrics_;
  const Landscape landscape_;
  Group& group_;
};

}  // namespace

Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options) {
  const FunctionConfig& function = *config.function;
  const auto metrics = find_row(functions(), function.name)->metrics(function);
  return std::make_unique<Function>(function.name, std::vector(metrics.begin(), metrics.end()),
                                    find_row(formulas(), function.name)->make(function),
                                    *options.group);
}

}  // namespace detol
