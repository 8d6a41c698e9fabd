#pragma once

// What simulated trainings have in common: where their reports stand, and a training whose metrics
// follow power laws.

#include <memory>
#include <string>
#include <vector>

#include "core/rng.h"
#include "scheduler/simulation/training_model.h"

namespace detol::inline scheduler {

// Returns the epochs of the report that follows `epochs`. `early_reports` are parts of the first
// epoch, ascending.
double report_after(double epochs, const std::vector<double>& early_reports);

message::Report report_of(const message::Train& train, double epochs, EpochReport report);

// PowerLaw is a metric after e epochs of n:
//
//   last + drop ((1 + rate e)^-exponent - (1 + rate n)^-exponent) + noise
struct PowerLaw {
  std::string metric;
  double last = 0;  // after all epochs
  double drop = 0;
  double exponent = 0.5;
  double rate = 1;
  double noise = 0;  // standard deviation
};

struct PowerLawTraining {
  message::Train train;
  std::vector<double> early_reports = {};
  int epochs = 1;
  double epoch_s = 1;
  double epoch_work = 0;
  std::vector<PowerLaw> metrics = {};
  Rng noise = Rng(0);
};

std::unique_ptr<SimulatedTraining> make_training(PowerLawTraining training);

// Makes a training that says one thing after so many seconds.
std::unique_ptr<SimulatedTraining> make_training(double seconds, PoolEvent event);

}  // namespace detol::inline scheduler
