// No early stopping: the baseline, and the right choice where epochs are few.

#include <limits>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {
namespace {

class None final : public Pruner {
 public:
  Advice judge(TrialId, double, double) override { return Advice::kContinue; }
  double undecided(TrialId, double) override { return std::numeric_limits<double>::infinity(); }
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_none(const PrunerSettings& settings) {
  DETOL_TRY(OptionReader("none", settings.options).done());
  return std::make_unique<None>();
}

}  // namespace detol::inline scheduler
