#pragma once

// Backend: runs a network. A backend compiles a candidate once into an Executable whose
// steps allocate nothing; `reference` is the oracle, every other backend is tested only
// against it.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network.h"
#include "encodings/recipe.h"
#include "trainer/weights.h"

namespace detol {

// What one training step needs besides the batch.
struct StepSettings {
  double lr = 0;           // of this step, after schedule and warm-up
  std::int64_t step = 0;   // from 0: adamw's bias correction, dropout's stream
  std::uint64_t seed = 0;  // dropout draws from stream `step` of this seed
};

struct BatchResult {
  double loss = 0;           // mean over the images
  std::int64_t correct = 0;  // images whose largest logit is the label's
};

// Everything a training run carries from step to step, in the plain layout.
struct TrainingState {
  Weights weights;
  std::vector<Weights> moments;  // sgd: {velocity}; adamw: {first, second}; trainable tensors only
};

// One candidate, compiled for one batch size. Not thread-safe; one per process at a time
// (they share the backend's arena).
class Executable {
 public:
  virtual ~Executable() = default;

  // Where the caller writes the next batch: B x C x H x W normalised pixels, B labels.
  virtual std::span<float> images() = 0;
  virtual std::span<std::int32_t> labels() = 0;

  // Forward, backward and optimiser on the whole batch. Non-finite losses are returned, not hidden.
  virtual BatchResult train_step(const StepSettings& settings) = 0;

  // Inference (running statistics, no dropout, no label smoothing) on the first `count` images
  // of the batch. REQUIRES: 0 < count <= batch size.
  virtual BatchResult evaluate(std::int64_t count) = 0;

  // B x classes, of the last evaluate() or train_step().
  virtual std::span<const float> logits() const = 0;

  // In the order of Network::parameters(); set_state(state()) changes no bit. A fresh executable
  // is all zeros: set its state before the first step. Absent moments count as zeros.
  virtual TrainingState state() const = 0;
  virtual void set_state(const TrainingState& state) = 0;

  virtual std::size_t bytes() const = 0;  // held for this candidate
};

struct BackendRow {
  std::string_view name;
  std::string_view summary;
  // Errors: kInput for a layer that this backend cannot run, kInternal otherwise. Throws
  // std::bad_alloc when memory is short: the caller makes it an outcome.
  Result<std::unique_ptr<Executable>> (*compile)(const Network& network, const Recipe& recipe);
};

// Every backend of this build, fastest first, the reference last.
std::span<const BackendRow> backends();

}  // namespace detol
