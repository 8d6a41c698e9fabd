#pragma once

// Lives: tensors that come and go while a network is trained, and how much of them there is at
// once. A tensor lives from the first step that uses it to the last. Private to this folder.

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace detol {

class Lives {
 public:
  using Tensor = std::size_t;

  Tensor make(double floats);
  // Made to overwrite `old` in the step that makes it, where no later step uses that.
  Tensor make_over(Tensor old);
  void use(Tensor tensor) { use(std::initializer_list<Tensor>{tensor}); }
  void use(std::initializer_list<Tensor> tensors) { use({tensors.begin(), tensors.size()}); }
  void use(std::span<const Tensor> tensors);  // in the current step
  void next_step() { ++step_; }

  // The most floats that live in one step.
  double peak() const;

 private:
  struct Life {
    double floats = 0;
    std::size_t born = 0, dies = 0;
    bool is_used = false;
    Tensor over;  // itself, if nothing
  };

  std::vector<Life> merged() const;

  std::vector<Life> lives_;
  std::size_t step_ = 0;
};

}  // namespace detol
