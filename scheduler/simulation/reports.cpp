#include "scheduler/simulation/reports.h"

#include <cmath>
#include <utility>

namespace detol::inline scheduler {
namespace {

class PowerLaws final : public SimulatedTraining {
 public:
  explicit PowerLaws(PowerLawTraining training) : training_(std::move(training)) {}

  double seconds_after(double epochs) override {
    return (next(epochs) - epochs) * training_.epoch_s;
  }
  std::optional<PoolEvent> event_after(double epochs, double train_s) override {
    const double now = next(epochs);
    EpochReport report{.metrics = {}, .work = training_.epoch_work * now, .train_s = train_s};
    for (const PowerLaw& law : training_.metrics)
      report.metrics.push_back({law.metric, value_at(law, now)});
    return report_of(training_.train, now, std::move(report));
  }

 private:
  double next(double epochs) const { return report_after(epochs, training_.early_reports); }

  double value_at(const PowerLaw& law, double epochs) const {
    const auto share_at = [&](double e) { return std::pow(1 + law.rate * e, -law.exponent); };
    const double share = share_at(epochs) - share_at(training_.epochs);
    const double value = law.last + law.drop * share;
    if (law.noise <= 0) return value;
    Rng noise = training_.noise.split(static_cast<std::uint64_t>(epochs * 1000));
    return value + law.noise * noise.normal();
  }

  const PowerLawTraining training_;
};

class OneEvent final : public SimulatedTraining {
 public:
  OneEvent(double seconds, PoolEvent event) : seconds_(seconds), event_(std::move(event)) {}

  double seconds_after(double) override { return seconds_; }
  std::optional<PoolEvent> event_after(double, double) override { return event_; }

 private:
  const double seconds_;
  const PoolEvent event_;
};

}  // namespace

double report_after(double epochs, const std::vector<double>& early_reports) {
  for (const double part : early_reports) {
    if (part > epochs) return part;
  }
  return std::floor(epochs) + 1;
}

message::Report report_of(const message::Train& train, double epochs, EpochReport report) {
  report.epoch = static_cast<int>(epochs);
  report.part = epochs - std::floor(epochs);
  return {.trial = train.trial, .attempt = train.attempt, .report = std::move(report)};
}

std::unique_ptr<SimulatedTraining> make_training(PowerLawTraining training) {
  return std::make_unique<PowerLaws>(std::move(training));
}

std::unique_ptr<SimulatedTraining> make_training(double seconds, PoolEvent event) {
  return std::make_unique<OneEvent>(seconds, std::move(event));
}

}  // namespace detol::inline scheduler
