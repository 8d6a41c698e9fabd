#pragma once

// Backend runs a network: it compiles a candidate once into an Executable whose
// steps allocate nothing; `reference` is the oracle, every other backend is tested only
// against it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/placement.h"
#include "trainer/backends/weights.h"
#include "trainer/data/batch_targets.h"
#include "trainer/data/epoch_image.h"
#include "trainer/reports/algorithm_choices.h"

namespace detol::inline trainer {

struct Dataset;  // dataset.h

// StepSettings is what one training step needs besides the batch.
struct StepSettings {
  double lr = 0;           // of this step, after schedule and warm-up
  std::int64_t step = 0;   // from 0; for adamw's bias correction, EMA decay, dropout's stream
  std::uint64_t seed = 0;  // dropout draws from stream `step` of this seed
};

struct BatchResult {
  double loss = 0;           // mean over the images, or a micro-batch's share of it
  std::int64_t correct = 0;  // images whose largest logit is the label's; of targets of 0 and 1,
                             // outputs on the right side of 0; of other targets, none
};

// TrainingState is everything a training run carries from step to step, in the plain layout.
struct TrainingState {
  Weights weights;
  std::vector<Weights> moments;  // as in optimizer.h; trainable tensors only
  Weights average = {};          // of all weights, where the recipe has ema; else empty
  // For groups (gradient_sums.h), trainable tensors only: gradients that each rank has not sent
  // yet, and sums that no update has used yet, oldest first.
  std::vector<Weights> residuals = {}, pending = {};
};

// Returns the weights that a trial is scored and exported with.
inline const Weights& scored_weights(const TrainingState& state) {
  return state.average.empty() ? state.weights : state.average;
}

// Removes them from a state that is not needed any more, and returns them.
inline Weights take_scored_weights(TrainingState& state) {
  return std::move(state.average.empty() ? state.weights : state.average);
}

// DeviceSteps trains on a data set that is stored on the network's device: batches are made there,
// and only results() and evaluate() wait for the device. Owned by an executable; not thread-safe.
class DeviceSteps {
 public:
  virtual ~DeviceSteps() = default;

  // Sets the steps that follow: `images` has a whole batch of all ranks for each. Both are copied.
  virtual void begin(std::span<const EpochImage> images, std::span<const StepSettings> steps) = 0;

  // Starts the next step: accumulate() for all micro-batches, and update().
  virtual void step() = 0;

  // Returns this rank's shares of the results of finished steps that were not returned before, in
  // their order; waits until at most `in_flight` steps are unfinished.
  virtual std::vector<BatchResult> results(std::size_t in_flight) = 0;

  // Runs Executable::evaluate on `count` images of the data set, from `first`, in as many runs as
  // it takes; the loss is their mean. `outputs`: none, or receives count x classes.
  virtual BatchResult evaluate(std::int64_t first, std::int64_t count,
                               std::span<float> outputs) = 0;
};

// Executable is one candidate, compiled for one rank's shard of one batch size. Not thread-safe;
// one per process at a time (they share the backend's arena). The ranks of a group make the same
// calls.
class Executable {
 public:
  virtual ~Executable() = default;

  // Returns the micro-batches of this rank, trained one after the other in every step.
  virtual std::span<const Shard> micro_batches() const = 0;

  // The caller writes the next B images here, as many as the largest micro-batch has:
  // B x C x H x W normalised pixels, and their targets(): B labels, or B x outputs targets if the
  // loss takes those. `mixes`, all zeros at first, are for losses that take labels.
  virtual std::span<float> images() = 0;
  virtual BatchTargets targets() = 0;
  std::span<std::int32_t> labels() { return targets().labels; }

  // Runs forward and backward on one of micro_batches(), which the caller wrote to the front of
  // images() and targets(): adds its share of the gradient of the batch's mean loss, and returns
  // its share of that mean. Batch norm sees only the images of this call or, if it is synchronised,
  // those of this call on all ranks. Non-finite losses are returned, not hidden.
  virtual BatchResult accumulate(const StepSettings& settings, const Shard& shard) = 0;

  // Makes the optimiser's step (optimizer.h) with the gradient of the whole batch, which all ranks
  // accumulated since the last update, or `staleness` steps earlier; the sums over the ranks may
  // begin in accumulate(). Leaves the same trainable bits on every rank. REQUIRES: each rank
  // accumulated each of its micro-batches once.
  virtual void update(const StepSettings& settings) = 0;

  // Calls accumulate() and update() for the whole shard. REQUIRES: micro_batches().size() == 1.
  BatchResult train_step(const StepSettings& settings) {
    const BatchResult result = accumulate(settings, micro_batches().front());
    update(settings);
    return result;
  }

  // Copies the leader's running statistics, and their average, to every rank. Those of synchronised
  // batch norm are equal anyway; others are of the rank's own shards, and the trial uses the
  // leader's.
  virtual void share_statistics() = 0;

  // Sends the state that each rank keeps separately between steps to every rank, for state().
  virtual void share_state() = 0;

  // Runs inference (running statistics, no dropout, no label smoothing, nothing mixed) on the first
  // `count` of images(), on this rank only, with the averaged weights if the recipe has ema.
  // REQUIRES: 0 < count <= B.
  virtual BatchResult evaluate(std::int64_t count) = 0;

  // Returns B x classes, of the last evaluate() or accumulate().
  virtual std::span<const float> logits() const = 0;

  // Tensors are in the order of Network::parameters(); set_state(state()) changes no bit. A fresh
  // executable is all zeros: set its state before the first step. Absent moments and residuals
  // count as zeros, an absent average begins as the weights. In a group state() REQUIRES
  // share_state() since the last step.
  virtual TrainingState state() const = 0;
  virtual void set_state(const TrainingState& state) = 0;

  virtual std::size_t bytes() const = 0;  // held for this candidate

  // Returns the steps on this data set, which outlives the executable. Null if there is no device,
  // or no room for the data on it, or if the ranks of a group exchange data through the host:
  // batches then come through images(). Null on all ranks if on one. REQUIRES: the ranks make the
  // same call.
  virtual DeviceSteps* steps_on(const Dataset& /*data*/) { return nullptr; }
};

struct BackendRow {
  std::string_view name;
  std::string_view summary;
  // Errors: kInput for a layer that this backend cannot run, kInternal otherwise. Throws
  // std::bad_alloc when memory is short: the caller turns it into an outcome. One rank may fail
  // alone: the caller informs the others. REQUIRES: batch size >= size of the group. The result
  // depends only on the arguments. An algorithm in placement.choices that this backend does not
  // have is an error (kInternal): the trial could not continue with the same bits.
  Result<std::unique_ptr<Executable>> (*compile)(const Network& network, const Recipe& recipe,
                                                 const Placement& placement);
  // Lists the shapes of a network that several algorithms can compute. Null: the backend has none.
  // Errors as compile's.
  Result<std::vector<AlgorithmCandidates>> (*list_algorithms)(const Network& network,
                                                              const Recipe& recipe,
                                                              const Placement& placement) = nullptr;
  // Times the listed shapes without a choice in placement.choices, each separately, forward and
  // backward, and returns the best algorithms; calls `on_progress` regularly. Called by the leader
  // of a group, whose shard is the largest. Errors as compile's. REQUIRES: placement.choices;
  // list_algorithms is not null.
  Result<std::vector<TimedShape>> (*time_algorithms)(
      const Network& network, const Recipe& recipe, const Placement& placement,
      const std::function<void()>& on_progress) = nullptr;
  // Returns the bytes() of the executable of the same arguments and of a group's sums, without
  // allocating them. Null: they are known only on the device. Errors as compile's.
  Result<std::size_t> (*plan_bytes)(const Network& network, const Recipe& recipe,
                                    const Placement& placement) = nullptr;
  // Returns why the backend cannot be used on this machine, in one line; empty if it can. Null: it
  // always can.
  std::string (*why_not)() = nullptr;
};

}  // namespace detol::inline trainer
