#pragma once

// Target: a goal that ends a study when a report reaches it: `--target val_accuracy>=0.9`.

#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline scheduler {

struct Target {
  std::string metric;
  bool at_least = true;  // false: at most
  double value = 0;

  bool is_reached_by(double measured) const {
    return at_least ? measured >= value : measured <= value;
  }
};

// Parses "val_accuracy>=0.9" or "val_loss<=0.3". Errors (kUsage): what is accepted.
Result<Target> parse_target(std::string_view text);

std::string to_text(const Target& target);

}  // namespace detol::inline scheduler
