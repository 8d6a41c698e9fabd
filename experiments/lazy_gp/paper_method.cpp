#include "experiments/lazy_gp/paper_method.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/lazy_gp/paper_model.h"
#include "surrogate/acquisition.h"
#include "surrogate/maximise.h"

namespace detol {
namespace {

constexpr double kXi = 0.01;  // smaller improvements do not count
constexpr std::size_t kUniform = 1000;
constexpr std::size_t kStarts = 10;  // of climbs, for one suggestion
constexpr double kApart = 1e-3;      // in the unit cube: nearer maxima count as one

// Returns lengths of 1 in raw units, converted to units of the unit cube.
std::vector<double> raw_units(const Space& space) {
  std::vector<double> lengths;
  for (const Domain& domain : space.domains()) lengths.push_back(1 / (domain.high - domain.low));
  return lengths;
}

bool is_far(std::span<const double> x, const std::vector<Maximum>& from) {
  return std::ranges::all_of(from, [&](const Maximum& other) {
    double square = 0;
    for (std::size_t i = 0; i < x.size(); ++i) square += std::pow(x[i] - other.x[i], 2);
    return square > kApart * kApart;
  });
}

class PaperMethod final : public Searcher {
 public:
  PaperMethod(const Space& space, const PaperSettings& settings)
      : space_(space),
        settings_(settings),
        rng_(settings.seed),
        features_(space),
        lazy_(features_, raw_units(space)),
        box_{std::vector<double>(space.size(), 0.0),
             std::vector<double>(space.size(), std::nextafter(1.0, 0.0))} {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    std::vector<Trial> trials;
    if (told_ < settings_.startup) {
      for (int i = 0; i < count; ++i) {
        const TrialId id = first_id + static_cast<TrialId>(i);
        Rng rng = rng_.split(id);
        trials.push_back({id, space_.sample(rng)});
      }
      return trials;
    }
    for (const Maximum& each : suggestions(static_cast<std::size_t>(count), rng_.split(first_id)))
      trials.push_back({first_id + trials.size(), space_.at(each.x)});
    return trials;
  }

  void tell(const Trial& trial, const Outcome& outcome) override {
    const auto* measured = std::get_if<Measured>(&outcome);
    if (measured == nullptr) return;
    const Point x = features_.of(trial.genome);
    lazy_.append(x, measured->values.front());
    if (measured->values.front() <= lazy_.best()) best_ = x.numbers;
    ++told_;
    fitted_.reset();
    if (settings_.lag > 0 && told_ >= settings_.startup && told_ % settings_.lag == 0)
      fitted_ = lazy_.refitted();
  }

 private:
  // Returns `count` points: the maxima climbed to from all starts, best first, each once; then, if
  // those are too few, starts.
  std::vector<Maximum> suggestions(std::size_t count, Rng rng) const {
    const PaperModel& model = fitted_ ? *fitted_ : lazy_;
    std::vector<Maximum> starts = starts_of(model, kStarts + 2 * (count - 1), rng), tops;
    for (const Maximum& start : starts) tops.push_back(climb(model, start.x));
    std::ranges::stable_sort(tops, std::greater<>(), &Maximum::value);
    tops.insert(tops.end(), starts.begin(), starts.end());
    std::vector<Maximum> chosen;
    for (const Maximum& top : tops) {
      if (chosen.size() < count && is_far(top.x, chosen)) chosen.push_back(top);
    }
    return chosen;
  }

  std::vector<Maximum> starts_of(const PaperModel& model, std::size_t count, Rng& rng) const {
    std::vector<Maximum> starts(kUniform);
    Points points = features_.empty_points();
    for (Maximum& each : starts) {
      for (std::size_t i = 0; i < space_.size(); ++i) each.x.push_back(rng.uniform());
      points.push_back({each.x, {}, nullptr});
    }
    const std::vector<Prediction> predictions = model.predict(points);
    for (std::size_t i = 0; i < kUniform; ++i)
      starts[i].value = improvement(predictions[i], model.best()).value;
    std::ranges::stable_sort(starts, std::greater<>(), &Maximum::value);
    starts.resize(std::min(count, kUniform));
    Maximum near{.x = best_};
    for (double& x : near.x) x = std::clamp(x + 0.01 * rng.normal(), 0.0, box_.high.front());
    starts.push_back(std::move(near));
    return starts;
  }

  static AcquisitionValue improvement(Prediction at, double best) {
    at.variance = std::max(at.variance, 1e-12);
    return log_expected_improvement(at, best - kXi);
  }

  Maximum climb(const PaperModel& model, std::span<const double> start) const {
    const double best = model.best();
    const auto acquired = [&](std::span<const double> x, std::span<double> gradient) {
      const LazyGp::Slope slope = model.slope({{x.begin(), x.end()}, {}, nullptr});
      const AcquisitionValue value = improvement(slope.at, best);
      for (std::size_t i = 0; i < x.size(); ++i)
        gradient[i] = value.by_mean * slope.mean[i] + value.by_variance * slope.variance[i];
      return value.value;
    };
    return maximise(acquired, start, box_, {.max_evaluations = 30, .tolerance = 1e-5});
  }

  const Space space_;
  const PaperSettings settings_;
  const Rng rng_;
  const Features features_;
  PaperModel lazy_;
  std::optional<PaperModel> fitted_;  // for the next suggestion
  const Box box_;
  std::vector<double> best_;  // the best point
  int told_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_paper_method(const Space& space, const PaperSettings& settings) {
  return std::make_unique<PaperMethod>(space, settings);
}

}  // namespace detol
