#pragma once

// The factories behind the rows of pruners(), one per file of this folder.

#include <memory>

#include "scheduler/pruners/pruner.h"

namespace detol::inline scheduler {

Result<std::unique_ptr<Pruner>> make_none(const PrunerSettings& settings);
Result<std::unique_ptr<Pruner>> make_median(const PrunerSettings& settings);
Result<std::unique_ptr<Pruner>> make_asha(const PrunerSettings& settings);
Result<std::unique_ptr<Pruner>> make_hyperband(const PrunerSettings& settings);
Result<std::unique_ptr<Pruner>> make_curve(const PrunerSettings& settings);
Result<std::unique_ptr<Pruner>> make_gain(const PrunerSettings& settings);

// Returns a value as a loss: smaller is better in either direction, and NaN is infinity, the worst.
double loss_of(Direction direction, double value);

// Returns the values of all objectives as losses. REQUIRES: as many as the settings have, or one.
std::vector<double> losses_of(const PrunerSettings& settings, std::span<const double> values);

}  // namespace detol::inline scheduler
