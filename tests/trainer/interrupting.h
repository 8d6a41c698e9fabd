#pragma once

// An executable that suspends its own training at a chosen place.

#include "trainer/backends/backend.h"
#include "trainer/evaluator.h"

namespace detol {

// Interrupting asks for suspension after `calls` calls of accumulate and evaluate.
class Interrupting final : public Executable {
 public:
  Interrupting(Executable& inner, Control& control, std::int64_t calls)
      : inner_(inner), control_(control), calls_left_(calls) {
    count(0);
  }

  std::span<float> images() override { return inner_.images(); }
  BatchTargets targets() override { return inner_.targets(); }
  std::span<const Shard> micro_batches() const override { return inner_.micro_batches(); }
  BatchResult accumulate(const StepSettings& settings, const Shard& shard) override {
    count(1);
    return inner_.accumulate(settings, shard);
  }
  void update(const StepSettings& settings) override { inner_.update(settings); }
  void share_statistics() override { inner_.share_statistics(); }
  void share_state() override { inner_.share_state(); }
  BatchResult evaluate(std::int64_t images) override {
    count(1);
    return inner_.evaluate(images);
  }
  std::span<const float> logits() const override { return inner_.logits(); }
  TrainingState state() const override { return inner_.state(); }
  void set_state(const TrainingState& state) override { inner_.set_state(state); }
  std::size_t bytes() const override { return inner_.bytes(); }

 private:
  void count(std::int64_t calls) {
    calls_left_ -= calls;
    if (calls_left_ <= 0) control_.suspend = true;
  }

  Executable& inner_;
  Control& control_;
  std::int64_t calls_left_;
};

}  // namespace detol
