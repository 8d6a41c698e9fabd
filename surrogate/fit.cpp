// Lengths that are not pooled, and shears, enter against a charge (surrogate/fit_prior.h). So there
// is a climb with pooled lengths, one with free lengths, each from the last fit's, and one with
// shears, from the last fit's or from beside 0 at the best without; the better is kept. The
// one from beside 0 is given up early where it gains too little: of those that paid in the end, in
// searches of seven functions, none had gained less than 0.39 of its charge by then.
//
// A climb is box-bounded L-BFGS and stops early: gains in the fourth digit of the density make no
// difference to a search. The best of all evaluations is kept, wherever a line search ended.
//
// The depth of the graphs' kernel is an integer without a gradient. After the climbs from the
// starts, each at its own depth, the densities of the depths not yet climbed at are compared at the
// best parameters so far; a climb at the best of these depths begins there, and so on while the
// result improves. (This may miss a depth whose maximum is elsewhere; the next fit, which starts
// here, tries again.)
//
// An interrupted fit keeps the evaluations that it made. To continue it begins anew and is given
// these again, which costs nothing: the optimiser is deterministic, so it comes to where it was.
#include "surrogate/fit.h"

#include <nlopt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "surrogate/posterior_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr double kTolerance = 1e-4;       // of the log density, relative
constexpr double kLeastTolerance = 1e-2;  // absolute: a ratio of densities that is no evidence
constexpr double kFirstShear = 1e-6;      // a climb with shears begins with these
constexpr int kProbe = 10;                // evaluations of a climb from beside 0 that ends unless
constexpr double kLeastGain = 0.25;       // they gain this share of the charge
constexpr double kImpossible = 1e10;      // minus the log density where there is none

}  // namespace

class SteppedFit::Climber {
 public:
  Climber(const Features& features, const Points& points, std::span<const double> y,
          double least_noise)
      : density_(features, points, y), bounds_(bounds_of(density_.list(), least_noise)) {}

  int evaluations() const { return evaluations_; }
  bool is_interrupted() const { return is_interrupted_; }

  // Goes back to the start; the climbs that follow are interrupted after so many new evaluations.
  void begin(int new_evaluations) {
    most_ = known_.size() + static_cast<std::size_t>(std::max(new_evaluations, 1));
    is_interrupted_ = false;
    climbed_.fill(false);
    evaluations_ = 0;
    best_.clear();
  }

  // Climbs from `start` with at most so many evaluations, at least one; without shears if it has
  // none. Ends after kProbe evaluations if they found no density of `needed`.
  void climb(std::span<const double> start, int depth, Pooling pooling, int evaluations,
             double needed = -std::numeric_limits<double>::infinity()) {
    if (is_interrupted_) return;
    depth_ = depth;
    pooling_ = pooling;
    climbed_[static_cast<std::size_t>(depth)] = true;
    Bounds bounds = bounds_;
    const auto shears = start.subspan(list().shear(), list().shears);
    if (std::ranges::count(shears, 0) == std::ssize(shears)) {
      for (std::vector<double>* bound : {&bounds.low, &bounds.high})
        std::ranges::fill(shears_of(*bound), 0);
    }
    std::vector<double> at(start.begin(), start.end());
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = std::clamp(std::isnan(at[i]) ? 0 : at[i], bounds.low[i], bounds.high[i]);
    const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimiser(
        nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(at.size())), &nlopt_destroy);
    nlopt_set_min_objective(optimiser.get(), &Climber::cost, this);
    nlopt_set_lower_bounds(optimiser.get(), bounds.low.data());
    nlopt_set_upper_bounds(optimiser.get(), bounds.high.data());
    nlopt_set_ftol_rel(optimiser.get(), kTolerance);
    nlopt_set_ftol_abs(optimiser.get(), kLeastTolerance);
    // A line search ignores NLopt's own limit.
    most_of_climb_ = evaluations_ + std::max(evaluations, 1);
    probe_ = {.last = evaluations_ + kProbe, .needed = needed};
    optimiser_ = optimiser.get();
    double least = 0;
    nlopt_optimize(optimiser.get(), at.data(), &least);  // best_ has the best, however it ends
  }

  // Climbs with lengths that are not pooled.
  void climb_free(std::span<const double> start, int depth, int evaluations) {
    climb(start, depth, Pooling::kNone, evaluations,
          best_density_ - (1 - kLeastGain) * free_charge(list()));
  }

  // Climbs at another depth from the best parameters so far. Returns false if none are better, or
  // it was interrupted.
  bool climb_at_another_depth(int evaluations) {
    const int before = best_depth_;
    const std::optional<int> depth = best_new_depth();
    if (!depth) return false;
    climb(best_, *depth, best_pooling_, evaluations - GraphFeatures::kLevels);
    return best_depth_ != before && !is_interrupted_;
  }

  // Climbs with shears: from `start` if it has some, else from beside the best so far. Does nothing
  // where there are as many shears as observations.
  void climb_with_shears(const KernelParameters& start, int evaluations) {
    if (is_interrupted_ || !may_shear() || evaluations < 1) return;
    if (has_shears(start))
      return climb(coordinates(start, list()), start.depth, Pooling::kNone, evaluations);
    std::vector<double> from = best_;
    std::ranges::fill(shears_of(from), kFirstShear);
    const double charge =
        shear_charge(density_.observations()) * static_cast<double>(list().shears);
    climb(from, best_depth_, Pooling::kNone, evaluations,
          best_density_ - (1 - kLeastGain) * charge);
  }

  bool may_shear() const { return list().shears > 0 && density_.observations() > list().shears; }

  FitResult fitted() const {
    return {.parameters = from_coordinates(best_, best_depth_, density_.list()),
            .log_posterior = best_density_,
            .evaluations = evaluations_};
  }

  const ParameterList& list() const { return density_.list(); }

 private:
  std::span<double> shears_of(std::vector<double>& coordinates) const {
    return std::span(coordinates).subspan(list().shear(), list().shears);
  }

  // Returns the depth, of those without a climb so far, of greatest density at the best parameters.
  std::optional<int> best_new_depth() {
    std::optional<int> best;
    double best_density = -std::numeric_limits<double>::infinity();
    for (int depth = 0; depth < GraphFeatures::kLevels; ++depth) {
      if (climbed_[static_cast<std::size_t>(depth)]) continue;
      const Evaluation* at = evaluated(best_, depth, best_pooling_, 0);
      if (at == nullptr) return std::nullopt;
      const double density = at->density;
      if (density > best_density) {
        best = depth;
        best_density = density;
      }
    }
    return best;
  }

  static double cost(unsigned n, const double* at, double* gradient, void* climber) noexcept {
    return static_cast<Climber*>(climber)->cost({at, n}, {gradient, gradient == nullptr ? 0 : n});
  }

  double cost(std::span<const double> at, std::span<double> gradient) {
    const Evaluation* evaluation =
        evaluations_ < most_of_climb_ ? evaluated(at, depth_, pooling_, gradient.size()) : nullptr;
    if (evaluation == nullptr) {
      nlopt_force_stop(optimiser_);
      return kImpossible;
    }
    const double density = evaluation->density;
    probe_.best = std::max(probe_.best, density);
    if (evaluations_ == probe_.last && probe_.best < probe_.needed) nlopt_force_stop(optimiser_);
    std::ranges::transform(evaluation->gradient, gradient.begin(), std::negate<>());
    if (best_.empty() || density > best_density_) {
      best_.assign(at.begin(), at.end());
      best_depth_ = depth_;
      best_pooling_ = pooling_;
      best_density_ = density;
    }
    return std::isfinite(density) ? -density : kImpossible;
  }

  struct Evaluation {
    double density = 0;
    std::vector<double> gradient;  // empty: not asked for
  };

  // Returns the next evaluation, a known one or a new one; nullptr if that is one too many.
  const Evaluation* evaluated(std::span<const double> at, int depth, Pooling pooling,
                              std::size_t slopes) {
    const auto next = static_cast<std::size_t>(evaluations_);
    is_interrupted_ = is_interrupted_ || next >= most_;
    if (is_interrupted_) return nullptr;
    ++evaluations_;
    if (next == known_.size()) {
      Evaluation& made = known_.emplace_back(Evaluation{0, std::vector<double>(slopes)});
      made.density = density_(at, depth, pooling, made.gradient);
    }
    return &known_[next];
  }

  // Probe: the first evaluations of a climb, until it has made `last` of all.
  struct Probe {
    int last = 0;
    double needed = 0;  // density to go on with
    double best = -std::numeric_limits<double>::infinity();
  };

  PosteriorDensity density_;
  Bounds bounds_;
  std::vector<Evaluation> known_;  // in their order
  std::size_t most_ = 0;           // evaluations until an interruption
  bool is_interrupted_ = false;
  nlopt_opt optimiser_ = nullptr;  // of the present climb
  int depth_ = 0;
  Pooling pooling_ = Pooling::kPartial;
  std::array<bool, GraphFeatures::kLevels> climbed_{};  // by depth
  int evaluations_ = 0, most_of_climb_ = 0;
  Probe probe_;
  std::vector<double> best_;
  int best_depth_ = 0;
  Pooling best_pooling_ = Pooling::kPartial;
  double best_density_ = 0;
};

SteppedFit::SteppedFit(const Features& features, const Points& points, std::span<const double> y,
                       const KernelParameters& start, FitSettings settings)
    : settings_(settings),
      start_(start),
      climber_(std::make_unique<Climber>(features, points, y, settings_.least_noise)) {}

SteppedFit::SteppedFit(SteppedFit&&) noexcept = default;
SteppedFit& SteppedFit::operator=(SteppedFit&&) noexcept = default;
SteppedFit::~SteppedFit() = default;

bool SteppedFit::advance(int evaluations) {
  climber_->begin(evaluations);
  const bool has_graph = climber_->list().has_graph;
  const auto left = [&] { return settings_.max_evaluations - climber_->evaluations(); };
  const bool may_pool = free_charge(climber_->list()) > 0;
  int climbs = 1 + (may_pool ? 1 : 0) + (climber_->may_shear() ? 1 : 0) + (has_graph ? 1 : 0);
  KernelParameters unsheared = start_;
  std::ranges::fill(unsheared.shears, 0);
  const std::vector<double> from = coordinates(unsheared, climber_->list());
  climber_->climb(from, start_.depth, Pooling::kPartial, left() / climbs--);
  if (may_pool) climber_->climb_free(from, start_.depth, left() / climbs--);
  climber_->climb_with_shears(start_, left() / std::max(1, climbs));
  bool better = has_graph && !climber_->is_interrupted();
  while (better && left() > GraphFeatures::kLevels)
    better = climber_->climb_at_another_depth(left());
  return !climber_->is_interrupted();
}

FitResult SteppedFit::result() const {
  return climber_->fitted();
}

FitResult fit(const Features& features, const Points& points, std::span<const double> y,
              const KernelParameters& start, const FitSettings& settings) {
  SteppedFit stepped(features, points, y, start, settings);
  stepped.advance(std::numeric_limits<int>::max());
  return stepped.result();
}

Posterior log_posterior(const Features& features, const Points& points, std::span<const double> y,
                        const KernelParameters& parameters) {
  PosteriorDensity density(features, points, y);
  const ParameterList& list = density.list();
  const std::vector<double> at = coordinates(parameters, list);
  const auto with = [&](Pooling pooling) {
    Posterior posterior{.gradient = std::vector<double>(list.size())};
    posterior.log_density = density(at, parameters.depth, pooling, posterior.gradient);
    return posterior;
  };
  Posterior posterior = with(Pooling::kPartial);
  if (Posterior free = with(Pooling::kNone); free.log_density > posterior.log_density)
    posterior = std::move(free);
  const auto noise = posterior.gradient.end() - 1;
  if (!list.has_graph) posterior.gradient.insert(noise, 2, 0);
  return posterior;
}

}  // namespace detol::inline surrogate
