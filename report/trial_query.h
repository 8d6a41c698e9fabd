#pragma once

// TrialQuery: which trials a page of the table shows.

#include <cstddef>
#include <string>

namespace detol::inline report {

// TrialQuery: a page of the table of trials.
struct TrialQuery {
  // trial, state, epochs, device_s, duration_s, algorithm, params, or valueN of objective N
  std::string sort = "trial";
  bool is_descending = true;
  std::string words = {};  // only trials whose texts have them, in any case
  std::size_t page = 0;    // from 0
};

inline constexpr std::size_t kTrialsOfPage = 20;

}  // namespace detol::inline report
