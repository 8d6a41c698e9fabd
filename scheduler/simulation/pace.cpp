#include "scheduler/simulation/pace.h"

#include <algorithm>
#include <cmath>

#include "core/hash.h"

namespace detol::inline scheduler {

int Pace::epochs(const Genome& genome, int recipe_epochs) const {
  if (settings_.report_every_s <= 0) return recipe_epochs;
  return std::max(1, static_cast<int>(std::ceil(trial_s(genome) / settings_.report_every_s)));
}

int Pace::most_epochs(int recipe_epochs) const {
  if (settings_.report_every_s <= 0) return recipe_epochs;
  return std::max(1,
                  static_cast<int>(std::ceil(settings_.trial_s->high / settings_.report_every_s)));
}

double Pace::group_speed(std::int64_t batch) const {
  if (batch <= 0) return settings_.group_speed;
  const std::int64_t largest_part = (batch + settings_.ranks - 1) / settings_.ranks;
  const double most = static_cast<double>(batch) / static_cast<double>(largest_part);
  return std::min(settings_.group_speed, most);
}

double Pace::epoch_s(const Genome& genome, int recipe_epochs, double epoch_work,
                     std::int64_t batch) const {
  if (settings_.trial_s) return trial_s(genome) / epochs(genome, recipe_epochs);
  if (epoch_work <= 0) return kUnknownS;
  return epoch_work / (settings_.work_per_s * group_speed(batch));
}

Rng Pace::stream(const Genome& genome, std::string_view purpose) const {
  return Rng(seed_).split(hash64(purpose)).split(space_.identity(genome));
}

double Pace::trial_s(const Genome& genome) const {
  return stream(genome, "trial seconds").uniform(settings_.trial_s->low, settings_.trial_s->high);
}

}  // namespace detol::inline scheduler
