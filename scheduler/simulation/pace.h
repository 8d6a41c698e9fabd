#pragma once

// Pace: how long simulated trials train, and how often they report. Without `trial_s` an epoch
// takes its work at the speed of a worker's devices; with it, a trial of full length takes a time
// of that range, drawn by its choices and the seed alone, so that equal candidates take equal
// times.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/rng.h"
#include "encodings/space/space.h"

namespace detol::inline scheduler {

struct SecondsRange {
  double low = 0;
  double high = 0;
};

struct PaceSettings {
  double work_per_s = 3e10;  // of a device: forward FLOPs x images; of a table its cost
  double group_speed = 1;    // of a worker, in comparison with one device
  int ranks = 1;             // of a worker
  std::optional<SecondsRange> trial_s = {};  // of a trial of full length, whatever the group's size
  // Seconds between two reports, each of which is an epoch: a trial has as many as its time has
  // room for. 0: as many as its recipe says. REQUIRES: trial_s.
  double report_every_s = 0;
};

class Pace {
 public:
  static constexpr double kUnknownS = 1;  // of an epoch of a trial whose work is unknown

  // REQUIRES: the space outlives this.
  Pace(const Space& space, std::uint64_t seed, const PaceSettings& settings)
      : space_(space), seed_(seed), settings_(settings) {}

  // Returns how many times as fast as one device a worker trains batches of that size; 0: unknown.
  // The rank with the largest part of a batch decides: of 100 images some of 64 ranks train two, so
  // that the group is 50 times as fast as one at most.
  double group_speed(std::int64_t batch) const;

  // Returns the epochs of full length, where the recipe says `recipe_epochs`.
  int epochs(const Genome& genome, int recipe_epochs) const;

  // Returns whether times are given, whatever the work.
  bool is_given() const { return settings_.trial_s.has_value(); }

  // Returns the largest value that epochs() can have.
  int most_epochs(int recipe_epochs) const;

  // Returns the seconds of one epoch of that work, in batches of that size; 0: unknown.
  double epoch_s(const Genome& genome, int recipe_epochs, double epoch_work,
                 std::int64_t batch = 0) const;

  // Returns a stream of random numbers of these choices.
  Rng stream(const Genome& genome, std::string_view purpose) const;

 private:
  double trial_s(const Genome& genome) const;

  const Space& space_;
  const std::uint64_t seed_;
  const PaceSettings settings_;
};

}  // namespace detol::inline scheduler
