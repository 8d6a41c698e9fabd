#include "scheduler/pruners/pruners.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "core/table.h"

namespace detol::inline scheduler {
namespace {

constexpr std::array kPruners = {
    PrunerRow{"none", "trains every trial to its last epoch", make_none},
    PrunerRow{"median", "stops a trial that is worse than the median of the others", make_median},
    PrunerRow{"asha", "pauses trials at rungs, promotes the best third of a rung to the next",
              make_asha, true},
    PrunerRow{"hyperband",
              "asha in brackets that begin to prune at different rungs; with tpe or gp: "
              "BOHB",
              make_hyperband, true, true},
    PrunerRow{"curve", "stops a trial whose learning curve will hardly end among the best",
              make_curve, false, true},
    PrunerRow{"gain", "trains what promises the most improvement per epoch, paused or new",
              make_gain, true, true},
};

}  // namespace

std::span<const PrunerRow> pruners() {
  return kPruners;
}

Result<std::unique_ptr<Pruner>> make_pruner(std::string_view name, const PrunerSettings& settings) {
  const PrunerRow* row = find_row(pruners(), name);
  if (row == nullptr)
    return fail(ErrorCode::kUsage, unknown_name("pruner", name, names_of(pruners())));
  if (row->needs_length && settings.max_epochs >= kEndless)
    return fail(ErrorCode::kInput,
                fmt::format("{} must know how long a whole trial is: say the steps", name));
  return row->make(settings);
}

double loss_of(Direction direction, double value) {
  if (value != value) return std::numeric_limits<double>::infinity();
  return to_loss(direction, value);
}

std::vector<double> losses_of(const PrunerSettings& settings, std::span<const double> values) {
  std::vector<double> losses = {loss_of(settings.direction, values.front())};
  for (std::size_t i = 1; i < values.size(); ++i)
    losses.push_back(loss_of(settings.others[i - 1], values[i]));
  return losses;
}

}  // namespace detol::inline scheduler
