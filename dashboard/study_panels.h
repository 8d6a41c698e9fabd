#pragma once

#include <memory>
#include <string>

#include "dashboard/server.h"

namespace detol::inline dashboard {

// Returns what the dashboard shows of the studies of a knowledge base. It keeps what it read of the
// last ones.
std::unique_ptr<Panels> study_panels(std::string storage);

}  // namespace detol::inline dashboard
