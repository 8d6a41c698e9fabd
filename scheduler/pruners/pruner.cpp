#include "scheduler/pruners/pruner.h"

#include <algorithm>
#include <array>

namespace detol::inline scheduler {

PrunerSettings pruner_settings_of(const StudyConfig& config) {
  PrunerSettings settings{.direction = config.objectives.front().direction,
                          .max_epochs = config.max_epochs,
                          .early_reports = config.early_reports,
                          .options = config.pruner.options};
  for (const Objective& objective : std::span(config.objectives).subspan(1))
    settings.others.push_back(objective.direction);
  constexpr std::array<std::string_view, 4> kFixed = {"params", "flops", "memory", "latency"};
  for (const Objective& objective : config.objectives) {
    settings.fixed.push_back(config.trains() &&
                             std::ranges::find(kFixed, objective.metric) != kFixed.end());
  }
  return settings;
}

}  // namespace detol::inline scheduler
