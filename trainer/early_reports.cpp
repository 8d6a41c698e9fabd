#include "trainer/early_reports.h"

#include <algorithm>
#include <functional>

namespace detol::inline trainer {

std::vector<EarlyReport> early_reports_of(const Recipe& recipe, std::int64_t steps_per_epoch) {
  std::vector<int> parts = recipe.early_reports;
  std::ranges::sort(parts, std::greater());
  std::vector<EarlyReport> reports;
  for (const int n : parts) {
    const std::int64_t steps = std::max<std::int64_t>(1, steps_per_epoch / n);
    const bool is_new = reports.empty() || reports.back().steps < steps;
    if (is_new && steps < steps_per_epoch) reports.push_back({1.0 / n, steps});
  }
  return reports;
}

}  // namespace detol::inline trainer
