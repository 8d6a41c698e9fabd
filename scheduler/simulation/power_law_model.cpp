// Nothing is known of the candidates: each has an error that falls from kFirstError by a power law
// to one of its own, which is smooth in the numbers among its choices:
//
//   error = least + span * sigmoid(sum over choices of w sin(2 pi (f u + p)) / sqrt(choices))
//
// for seeded w, f, p and the position u of each choice in its range. A maximised metric is 1 -
// error, a minimised one the error. Its numbers say how a search uses its devices, and how policies
// compare; they foretell no accuracy.

#include <cmath>
#include <numbers>

#include "core/hash.h"
#include "scheduler/simulation/reports.h"
#include "scheduler/simulation/training_models.h"

namespace detol::inline scheduler {
namespace {

constexpr double kFirstError = 0.9;  // untrained
constexpr double kLeastError = 0.05;
constexpr double kErrorSpan = 0.3;
constexpr double kNoise = 0.003;
constexpr double kRate = 20;  // after a ninth of an epoch about half of the first error is left

class PowerLawModel final : public TrainingModel {
 public:
  explicit PowerLawModel(const ModelContext& context) : context_(context) {
    Rng rng = Rng(context.config.seed).split(hash64("landscape"));
    for (std::size_t i = 0; i < context.config.space.size(); ++i)
      waves_.push_back(
          {.weight = 3 * rng.normal(), .frequency = rng.uniform(0.3, 1), .phase = rng.uniform()});
  }

  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    const auto genome = context_.config.space.genome(train.params);
    if (!genome) return make_training(0, Unusable{genome.error()});
    const auto candidate = context_.candidates.decode(*genome);
    const int recipe_epochs = candidate ? candidate->recipe.epochs : context_.config.max_epochs;
    const double work = candidate ? context_.candidates.epoch_work(*candidate) : 0;
    const std::int64_t batch = candidate ? candidate->recipe.batch_size : 0;
    return make_training(
        PowerLawTraining{.train = train,
                         .early_reports = context_.config.early_reports,
                         .epochs = recipe_epochs,
                         .epoch_s = context_.pace.epoch_s(*genome, recipe_epochs, work, batch),
                         .epoch_work = work,
                         .metrics = curves_of(*genome),
                         .noise = Rng(train.seed)});
  }

 private:
  struct Wave {
    double weight, frequency, phase;
  };

  std::vector<PowerLaw> curves_of(const Genome& genome) const {
    const double error = last_error(genome);
    Rng rng = context_.pace.stream(genome, "curve");
    const double exponent = rng.uniform(0.5, 0.9);
    const double drop = kFirstError - error;
    std::vector<PowerLaw> laws;
    for (const Objective& objective : context_.config.objectives) {
      const bool is_minimised = objective.direction == Direction::kMinimize;
      laws.push_back({.metric = objective.metric,
                      .last = is_minimised ? error : 1 - error,
                      .drop = is_minimised ? drop : -drop,
                      .exponent = exponent,
                      .rate = kRate,
                      .noise = kNoise});
    }
    return laws;
  }

  double last_error(const Genome& genome) const {
    const auto domains = context_.config.space.domains();
    double sum = 0;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (!genome.is_active(i)) continue;
      const double at = domains[i].position_of(genome.codes()[i]);
      const Wave& wave = waves_[i];
      sum += wave.weight * std::sin(2 * std::numbers::pi * (wave.frequency * at + wave.phase));
    }
    const double height = sum / std::sqrt(static_cast<double>(domains.size()));
    return kLeastError + kErrorSpan / (1 + std::exp(-height));
  }

  const ModelContext context_;
  std::vector<Wave> waves_;  // by domain
};

}  // namespace

std::unique_ptr<TrainingModel> make_power_law_model(const ModelContext& context) {
  return std::make_unique<PowerLawModel>(context);
}

}  // namespace detol::inline scheduler
