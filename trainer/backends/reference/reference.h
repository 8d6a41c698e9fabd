#pragma once

// The reference backend: naive loops, in float as a backend or in double as the oracle that
// every other backend and the finite differences are compared with.

#include <memory>
#include <span>
#include <vector>

#include "trainer/backends/backend.h"

namespace detol::inline trainer {

// Reference is an executable that exposes its parameters and gradients, in the plain layout and the
// order of Network::parameters().
template <typename Real>
class Reference : public Executable {
 public:
  // Calls accumulate() on a whole batch, from zero gradients; the result is in gradients().
  virtual BatchResult differentiate(const StepSettings& settings) = 0;
  virtual std::vector<std::vector<Real>>& parameters() = 0;
  virtual const std::vector<std::vector<Real>>& gradients() const = 0;
};

// Makes a reference executable. Real is float or double. Throws std::bad_alloc when memory is
// short.
template <typename Real>
std::unique_ptr<Reference<Real>> make_reference(const Network& network, const Recipe& recipe,
                                                const Placement& placement = {});

// Compiles for the table of backends, in float.
Result<std::unique_ptr<Executable>> compile_reference(const Network& network, const Recipe& recipe,
                                                      const Placement& placement);

}  // namespace detol::inline trainer
