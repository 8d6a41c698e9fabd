#include "search/gp_refit.h"

#include <string>
#include <utility>

namespace detol::inline search {
namespace {

struct PreparedProcesses final : Refit::Prepared {
  std::vector<LazyGp> processes;
  int era = 0;
};

}  // namespace

RefitJob refit_job(RefitInput input) {
  return [in = std::move(input)] {
    const ModelFit after = refit(*in.features, in.observed, in.before, in.rng);
    auto prepared = std::make_shared<PreparedProcesses>();
    prepared->processes = processes_of(*in.features, in.observed, after, in.candidates);
    prepared->era = in.era;
    return Refit{.model = std::string(in.model),
                 .version = in.version,
                 .observations = after.observations,
                 .parameters = to_numbers(after),
                 .prepared = std::move(prepared)};
  };
}

std::vector<LazyGp> take_processes(Refit& refit, int era) {
  const auto prepared = std::dynamic_pointer_cast<PreparedProcesses>(refit.prepared);
  refit.prepared = nullptr;
  if (prepared == nullptr || prepared->era != era) return {};
  return std::move(prepared->processes);
}

}  // namespace detol::inline search
