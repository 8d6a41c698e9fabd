#pragma once

// The options of the searcher `gp`, as a space file gives them.

#include <cstddef>
#include <map>
#include <string>

#include "core/result.h"
#include "search/gp_criterion.h"

namespace detol::inline search {

struct GpOptions {
  std::size_t startup;  // trials before the first fit, failed ones included
  double growth;        // ratio of observations to those of the last refit at which a refit is due
  double surprise;      // mean square of the innovations above which a refit is due
  GpAcquisition acquisition;
  double region;  // share of the proposals that are made in the trust region
};

// Errors (kInput): an unknown option, or a value outside of its range.
Result<GpOptions> gp_options(const std::map<std::string, std::string>& options);

}  // namespace detol::inline search
