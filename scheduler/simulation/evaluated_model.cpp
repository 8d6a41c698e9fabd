// A function or a table says what a candidate is worth; it is asked when the trial starts. Where a
// trial has several epochs, metrics approach that value by a power law, from the worse side of an
// objective, from a half to twice the value's size away.

#include <cmath>
#include <utility>

#include "scheduler/simulation/reports.h"
#include "scheduler/simulation/training_models.h"

namespace detol::inline scheduler {
namespace {

class Evaluated final : public TrainingModel {
 public:
  Evaluated(const ModelContext& context, Evaluator& evaluator)
      : context_(context), evaluator_(evaluator) {}

  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    Job job;
    job.trial = train.trial;
    job.seed = train.seed;
    auto genome = context_.config.space.genome(train.params);
    if (!genome) return make_training(0, Unusable{genome.error()});
    job.genome = *std::move(genome);
    EpochReport last;
    const auto evaluation = evaluate(job, last);
    if (!evaluation) return make_training(0, Unusable{evaluation.error()});
    const int epochs = context_.pace.epochs(job.genome, 1);
    const double work = last.work / epochs;
    const double epoch_s = context_.pace.epoch_s(job.genome, 1, work);
    if (evaluation->end == Evaluation::End::kFailed)
      return make_training(
          epoch_s, message::Ended{
                       .trial = train.trial, .attempt = train.attempt, .evaluation = *evaluation});
    return make_training(PowerLawTraining{.train = train,
                                          .epochs = epochs,
                                          .epoch_s = epoch_s,
                                          .epoch_work = work,
                                          .metrics = curves_to(last, job.genome)});
  }

 private:
  Result<Evaluation> evaluate(const Job& job, EpochReport& last) {
    Control control;
    const auto keep = [&](const EpochReport& report, bool) {
      last = report;
      return Verdict::kStop;
    };
    return evaluator_.evaluate(job, keep, control);
  }

  std::vector<PowerLaw> curves_to(const EpochReport& last, const Genome& genome) const {
    Rng rng = context_.pace.stream(genome, "curve");
    const double drop = rng.uniform(0.5, 2);
    const double exponent = rng.uniform(0.3, 1);
    std::vector<PowerLaw> laws;
    for (const Metric& metric : last.metrics) {
      double sign = 0;
      for (const Objective& objective : context_.config.objectives) {
        if (objective.metric == metric.name) sign = to_loss(objective.direction, 1);
      }
      laws.push_back({.metric = metric.name,
                      .last = metric.value,
                      .drop = sign * drop * std::abs(metric.value),
                      .exponent = exponent});
    }
    return laws;
  }

  const ModelContext context_;
  Evaluator& evaluator_;
};

}  // namespace

std::unique_ptr<TrainingModel> make_evaluated_model(const ModelContext& context,
                                                    Evaluator& evaluator) {
  return std::make_unique<Evaluated>(context, evaluator);
}

}  // namespace detol::inline scheduler
