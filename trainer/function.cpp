#include "trainer/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/clock.h"
#include "core/table.h"

namespace detol {
namespace {

constexpr double kSliceS = 0.1;  // of a wait: how soon it hears that it shall end

constexpr std::array kFormulas = {
    Formula{"sleep", [](const FunctionConfig&, const Genome&) { return 0.0; },
            [](const FunctionConfig& config) { return config.number("seconds"); }},
};

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
  Function(FunctionConfig config, const Formula& formula, Group& group)
      : config_(std::move(config)), formula_(formula), group_(group) {}

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
    if (!wait(formula_.seconds(config_), control))
      return {.end = Evaluation::End::kSuspended, .reason = {}};
    const double value = formula_.value(config_, job.genome);
    if (!std::isfinite(value)) {
      return {Evaluation::End::kFailed, Cause::kDiverged,
              fmt::format("{} is {} there", config_.name, value)};
    }
    const Verdict verdict = report(
        {.epoch = 1, .metrics = {{"value", value}}, .train_s = system_clock().now_s() - start_s});
    const bool suspends = verdict == Verdict::kSuspend;
    return {.end = suspends ? Evaluation::End::kSuspended : Evaluation::End::kFinished,
            .reason = {}};
  }

  const FunctionConfig config_;
  const Formula& formula_;
  Group& group_;
};

}  // namespace

std::span<const Formula> formulas() {
  return kFormulas;
}

Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options) {
  const Formula& formula = *find_row(formulas(), config.function->name);
  return std::make_unique<Function>(*config.function, formula, *options.group);
}

}  // namespace detol
