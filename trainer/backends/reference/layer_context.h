#pragma once

// LayerContext: what a layer of the reference backend reads and writes. Private to this folder.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encodings/network/layer.h"
#include "trainer/backends/dropout.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer::reference {

template <typename Real>
struct View {
  Shape shape;
  std::span<Real> values;  // N x C x H x W

  Real& at(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    const std::int64_t row = (n * shape.channels + c) * shape.height + y;
    return values[static_cast<std::size_t>(row * shape.width + x)];
  }
};

// One layer's context in a step. Gradients of inputs and parameters are added to, never set.
template <typename Real>
struct LayerContext {
  const Layer* layer = nullptr;
  std::int64_t images = 0;
  bool training = true;
  DropoutStream dropout;
  Group* norm_group = &alone();  // batch norm takes statistics over its images
  std::vector<View<Real>> inputs;
  std::vector<View<Real>> input_gradients;
  View<Real> output;
  View<Real> output_gradient;
  std::vector<std::span<Real>> parameters;  // in the order of parameters_of()
  std::vector<std::span<Real>> parameter_gradients;
};

}  // namespace detol::inline trainer::reference
