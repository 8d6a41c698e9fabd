// A trial takes the curve of the recorded trial that is most like it: the smallest sum of squared
// differences of the choices' positions in their ranges, 1 for a choice that differs and has no
// order, or that only one of them has. Seconds grow with a power of an epoch's work, which is
// fitted to all recorded trials: small networks reach fewer FLOPs a second. Where the recorded
// curve ends before the trial does, it goes on as the one that had the most similar value there and
// went on, at the trial's last speed, and stays among the values that were recorded.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "scheduler/simulation/reports.h"
#include "scheduler/simulation/training_models.h"

namespace detol::inline scheduler {
namespace {

constexpr double kSameEpoch = 1e-6;

const RecordedReport* report_at(const RecordedTrial& trial, double epochs) {
  const auto found = std::ranges::find_if(trial.reports, [&](const RecordedReport& report) {
    return std::abs(report.epochs - epochs) < kSameEpoch;
  });
  return found == trial.reports.end() ? nullptr : &*found;
}

// Returns the seconds of an epoch; 0: nothing was reported.
double epoch_s_of(const RecordedTrial& trial) {
  double seconds = 0;
  for (const RecordedReport& report : trial.reports) seconds += report.seconds;
  return trial.reports.empty() ? 0 : seconds / trial.reports.back().epochs;
}

// Returns the slope of the least squares line through the points, from 0 to 1; 1 if there is none.
double slope_of(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [at, value] : points) {
    x += at / n;
    y += value / n;
  }
  for (const auto& [at, value] : points) {
    xx += (at - x) * (at - x);
    xy += (at - x) * (value - y);
  }
  return xx > 0 ? std::clamp(xy / xx, 0.0, 1.0) : 1;
}

// Returns the metric; NaN: it was not reported.
double metric_of(const RecordedReport& report, const std::string& name) {
  for (const auto& [metric, value] : report.metrics) {
    if (metric == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

class RecordedTraining final : public SimulatedTraining {
 public:
  struct Scale {
    double seconds = 1;     // of its seconds to the recorded ones
    double epoch_work = 0;  // 0: as recorded
    double epoch_s = 0;     // 0: as recorded
    double start_s = 0;
  };
  RecordedTraining(const message::Train& train, const RecordedTrial& trial,
                   const RecordedCurves& all, std::vector<double> early_reports, Scale scale)
      : train_(train),
        trial_(trial),
        all_(all),
        early_reports_(std::move(early_reports)),
        scale_(scale),
        begins_at_(train.acknowledged) {}

  double seconds_after(double epochs) override {
    const double next = report_after(epochs, early_reports_);
    const double start_s = epochs == begins_at_ ? scale_.start_s : 0;
    if (scale_.epoch_s > 0) return start_s + (next - epochs) * scale_.epoch_s;
    if (const RecordedReport* report = report_at(trial_, next))
      return start_s + report->seconds * scale_.seconds;
    return start_s + (next - epochs) * recorded_epoch_s() * scale_.seconds;
  }

  std::optional<PoolEvent> event_after(double epochs, double train_s) override {
    const double next = report_after(epochs, early_reports_);
    const double start_s = epochs == begins_at_ ? scale_.start_s : 0;
    EpochReport report{.metrics = {}, .train_s = std::max(0.0, train_s - start_s)};
    const RecordedReport* recorded = report_at(trial_, next);
    if (recorded == nullptr && trial_.failure && next > last_epochs())
      return message::Ended{.trial = train_.trial,
                            .attempt = train_.attempt,
                            .evaluation = {.end = Evaluation::End::kFailed,
                                           .cause = *trial_.failure,
                                           .reason = "as the recorded trial"}};
    const RecordedReport& last = recorded != nullptr ? *recorded : last_before(next);
    for (const auto& [name, value] : last.metrics) {
      const bool is_beyond = recorded == nullptr;
      report.metrics.push_back(
          {name, is_beyond ? continued(name, value, last.epochs, next) : value});
    }
    if (scale_.epoch_work > 0)
      report.work = scale_.epoch_work * next;
    else
      report.work = last.epochs > 0 ? last.work / last.epochs * next : 0;
    return report_of(train_, next, std::move(report));
  }

 private:
  double last_epochs() const { return trial_.reports.empty() ? 0 : trial_.reports.back().epochs; }

  double recorded_epoch_s() const {
    const double epoch_s = epoch_s_of(trial_);
    return epoch_s > 0 ? epoch_s : Pace::kUnknownS;
  }

  const RecordedReport& last_before(double epochs) const {
    static const RecordedReport kNone;
    const RecordedReport* last = &kNone;
    for (const RecordedReport& report : trial_.reports) {
      if (report.epochs <= epochs) last = &report;
    }
    return *last;
  }

  // Returns the value after `to` epochs of a trial that has `value` after `from`, as far as it is
  // recorded.
  double continued(const std::string& metric, double value, double from, double to) const {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    double nearest = unknown, gain = 0, low = unknown, high = unknown;
    for (const RecordedTrial& trial : all_.trials) {
      const RecordedReport* after = report_at(trial, to);
      const double later = after == nullptr ? unknown : metric_of(*after, metric);
      if (!std::isfinite(later)) continue;
      low = std::fmin(low, later);
      high = std::fmax(high, later);
      const RecordedReport* before = report_at(trial, from);
      const double now = before == nullptr ? unknown : metric_of(*before, metric);
      if (!std::isfinite(now) || std::abs(now - value) >= std::abs(nearest - value)) continue;
      nearest = now;
      gain = later - now;
    }
    return std::fmax(low, std::fmin(high, value + gain));
  }

  const message::Train train_;
  const RecordedTrial& trial_;
  const RecordedCurves& all_;
  const std::vector<double> early_reports_;
  const Scale scale_;
  const double begins_at_;
};

class RecordedModel final : public TrainingModel {
 public:
  RecordedModel(const ModelContext& context, const RecordedCurves& curves)
      : context_(context), curves_(curves) {
    std::vector<std::pair<double, double>> points;  // logarithms of work and seconds of an epoch
    for (const RecordedTrial& trial : curves.trials) {
      const auto genome = context.config.space.genome(trial.params);
      if (!genome) continue;
      const auto candidate = context.candidates.decode(*genome);
      const double work = candidate ? context.candidates.epoch_work(*candidate) : 0;
      known_.push_back({&trial, *genome, work});
      const double epoch_s = epoch_s_of(trial);
      if (work > 0 && epoch_s > 0) points.emplace_back(std::log(work), std::log(epoch_s));
    }
    power_of_work_ = slope_of(points);
  }

  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    const auto genome = context_.config.space.genome(train.params);
    if (!genome) return make_training(0, Unusable{genome.error()});
    if (known_.empty())
      return make_training(0, Unusable{{ErrorCode::kInput,
                                        "no recorded trial fits the space; give curves of a study "
                                        "of the same space file",
                                        {}}});
    const Known& known = *std::ranges::min_element(
        known_, {}, [&](const Known& one) { return distance(*genome, one.genome); });
    const auto candidate = context_.candidates.decode(*genome);
    const int epochs = candidate ? candidate->recipe.epochs : context_.config.max_epochs;
    const std::int64_t batch = candidate ? candidate->recipe.batch_size : 0;
    RecordedTraining::Scale scale{.seconds = 1 / context_.pace.group_speed(batch),
                                  .start_s = curves_.start_s};
    scale.epoch_work = candidate ? context_.candidates.epoch_work(*candidate) : 0;
    if (scale.epoch_work > 0 && known.epoch_work > 0)
      scale.seconds *= std::pow(scale.epoch_work / known.epoch_work, power_of_work_);
    if (context_.pace.is_given()) scale.epoch_s = context_.pace.epoch_s(*genome, epochs, 0);
    return std::make_unique<RecordedTraining>(train, *known.trial, curves_,
                                              context_.config.early_reports, scale);
  }

 private:
  struct Known {
    const RecordedTrial* trial = nullptr;
    Genome genome;
    double epoch_work = 0;
  };

  double distance(const Genome& a, const Genome& b) const {
    const auto domains = context_.config.space.domains();
    double sum = 0;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (!a.is_active(i) && !b.is_active(i)) continue;
      const Domain& domain = domains[i];
      double apart = 1;
      if (a.is_active(i) && b.is_active(i))
        apart = domain.is_ordered()
                    ? domain.position_of(a.codes()[i]) - domain.position_of(b.codes()[i])
                    : static_cast<double>(a.codes()[i] != b.codes()[i]);
      sum += apart * apart;
    }
    return sum;
  }

  const ModelContext context_;
  const RecordedCurves& curves_;
  std::vector<Known> known_;
  double power_of_work_ = 1;  // to which an epoch's seconds grow
};

}  // namespace

std::unique_ptr<TrainingModel> make_recorded_model(const ModelContext& context,
                                                   const RecordedCurves& curves) {
  return std::make_unique<RecordedModel>(context, curves);
}

}  // namespace detol::inline scheduler
