#pragma once

// ProgramExecutable is what the executables of programs do in the same way: micro-batches, the
// state of the training, and what the ranks of a group share of it. Not thread-safe.

#include <optional>
#include <span>

#include "trainer/backends/program/program.h"
#include "trainer/backends/program/rank_step.h"

namespace detol::inline trainer::program {

class ProgramExecutable : public Executable {
 public:
  std::span<const Shard> micro_batches() const override { return program().micro_batches(); }
  void share_statistics() override;
  void share_state() override;
  TrainingState state() const override;
  void set_state(const TrainingState& state) override;

 protected:
  // Sums gradients over the ranks of the group, with `buckets` as of GradientSums, in the memory of
  // the host. Without this call, or for one rank, the gradients stay.
  void sum_over_ranks(std::span<const GradientBucket> buckets);
  // Returns the sums, or null.
  RankStep* ranks() { return ranks_ ? &*ranks_ : nullptr; }
  // Zeroes the images after those of the shard, so that their activations are finite and their
  // gradients zero.
  void clear_unused_images(const Shard& shard);

 private:
  virtual const Program& program() const = 0;

  std::optional<RankStep> ranks_;
};

}  // namespace detol::inline trainer::program
