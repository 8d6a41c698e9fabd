#pragma once

// The models of simulated trainings.
//
//   evaluated   a function or a table gives a candidate's last value; with several epochs its curve
//               comes down to it by a power law
//   power laws  nothing is known: a seeded random function of the choices, smooth in the numbers
//               among them, gives each candidate's last value
//   recorded    the curves of the most similar trial of an earlier study (recorded_curves.h)
//   losses      any of them, whose workers are lost at random
//   ranking     any of them, of whose epochs the best counts

#include <memory>

#include "encodings/study/study_config.h"
#include "scheduler/candidates.h"
#include "scheduler/simulation/pace.h"
#include "scheduler/simulation/recorded_curves.h"
#include "scheduler/simulation/training_model.h"
#include "trainer/evaluator.h"

namespace detol::inline scheduler {

// ModelContext is what a model knows of a study; all of it outlives the model.
struct ModelContext {
  const StudyConfig& config;
  const Pace& pace;
  Candidates& candidates;
};

std::unique_ptr<TrainingModel> make_evaluated_model(const ModelContext& context,
                                                    Evaluator& evaluator);

std::unique_ptr<TrainingModel> make_power_law_model(const ModelContext& context);

// REQUIRES: a curve or more; they outlive the model.
std::unique_ptr<TrainingModel> make_recorded_model(const ModelContext& context,
                                                   const RecordedCurves& curves);

// Losses come as a Poisson process, so many in an hour of a device. They depend on the seed, the
// trial, its attempt and its epoch alone. The inner model outlives this one.
std::unique_ptr<TrainingModel> with_losses(TrainingModel& inner, double per_device_h,
                                           int group_size, std::uint64_t seed);

// Marks the reports of each trial that are its best so far. The inner model outlives this one.
std::unique_ptr<TrainingModel> with_ranking(TrainingModel& inner, const EpochRanking& ranking);

}  // namespace detol::inline scheduler
