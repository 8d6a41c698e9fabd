#pragma once

// Refits of the searcher `gp` as jobs that any thread may run (searcher.h). Beside the parameters,
// which the ledger records, a job computes the processes of the model, so that absorbing it costs
// an ask little.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/rng.h"
#include "search/gp_model.h"
#include "search/searcher.h"

namespace detol::inline search {

// RefitInput: all that a refit depends on. `era` counts how often the searcher forgot what it had
// learned: processes of another era are not used.
struct RefitInput {
  std::string_view model;  // Refit::model
  std::uint64_t version = 0;
  int era = 0;
  std::shared_ptr<const Features> features;
  Observed observed;
  std::vector<OutputFit> before;
  Points candidates;  // attached to the processes
  Rng rng;
};

RefitJob refit_job(RefitInput input);

// Takes the processes of a refit that a job of this era made; empty if there are none.
std::vector<LazyGp> take_processes(Refit& refit, int era);

}  // namespace detol::inline search
