#pragma once

// The trials of a study with their attempts and learning curves. Private to this room.

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/source.h"

namespace detol::inline report {

using Json = nlohmann::ordered_json;

// ShownAttempt: a worker trained the trial from one moment to another, seconds since 1970.
struct ShownAttempt {
  std::string worker;
  double from_s = 0, until_s = 0;
};

struct ShownPoint {
  double epoch = 0;
  double value = 0;  // of the first objective
};

// NOLINTNEXTLINE(bugprone-exception-escape): nothing that it has throws when it is moved
struct ShownTrial {
  TrialId trial = 0;
  std::string state, failure, reason, algorithm;
  std::uint64_t candidate = 0;  // equal for trials of one network with the same choices
  std::vector<double> values;   // one per objective; NaN where it is unknown
  Json params;
  double params_count = 0, flops = 0;  // of the network; NaN: unknown
  double epochs = 0;
  double device_s = 0;
  double work = 0;  // forward FLOPs x images
  std::optional<double> started_s, finished_s;
  bool is_scored = false;  // reported a finite value, has not failed, keeps to the constraints
  std::vector<ShownAttempt> attempts;
  std::vector<ShownPoint> curve;
};

// Returns the trial of each row of v_trials, without attempts and curve; its choices with
// `has_params`.
std::vector<ShownTrial> trials_in(const Rows& rows, std::span<const Objective> objectives,
                                  bool has_params);

// Returns the trials in the order of their numbers.
std::vector<ShownTrial> shown_trials(const ReportSource& source);

// Returns the time of the last thing that is known to have happened, seconds since 1970.
double last_moment(const ReportSource& source, const std::vector<ShownTrial>& trials);

// Returns the positions of the scored trials, best first by the first objective; of equals a
// COMPLETE one first, then the first.
std::vector<std::size_t> ranked(const ReportSource& source, const std::vector<ShownTrial>& trials);

// Returns the positions of the trials that have ended, by the time when they ended.
std::vector<std::size_t> by_end(const std::vector<ShownTrial>& trials);

// Returns at most about `limit` of `count` positions, ascending: all of `kept`, and of the others
// every k-th. REQUIRES: kept is ascending.
std::vector<std::size_t> thinned(std::size_t count, std::size_t limit,
                                 const std::vector<std::size_t>& kept = {});

}  // namespace detol::inline report
