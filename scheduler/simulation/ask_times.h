#pragma once

// AskTimes: the time that a searcher takes for a proposal, by the number of trials that it was
// told: a table of points, linear between them and level beyond. A simulation charges these times
// to its clock, and not those that it measures, so that it is a function of its settings.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace detol::inline scheduler {

class AskTimes {
 public:
  // Returns what was measured of a searcher on one core (experiments/scheduler/LOG.md).
  static AskTimes of(std::string_view algorithm);

  // Parses "0=0.5,1000=20": trials told = milliseconds; or one number for all. Errors (kUsage).
  static Result<AskTimes> parse(std::string_view text);

  double seconds(double told) const;

  // Returns the text that parse() reads.
  std::string text() const;

 private:
  std::vector<std::pair<double, double>> points_;  // trials told, ascending; milliseconds
};

}  // namespace detol::inline scheduler
