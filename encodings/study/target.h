#pragma once

// Target: a bound that a metric shall reach, as `val_accuracy>=0.9`: it ends a study (`--target`),
// or epochs_to_target counts the epochs until then.

#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline encoding {

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

}  // namespace detol::inline encoding
