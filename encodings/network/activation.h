#pragma once

// The activation functions: their names, and what those ask that do not compute them. Their values
// and slopes are in activation_functions.h; a new one has a row here, a formula there, and its
// operators in the exports (docs/architecture/layers.md).

#include <array>
#include <cstdint>
#include <string_view>

namespace detol::inline encoding {

enum class Activation : std::uint8_t {
  kRelu,
  kSilu,
  kSigmoid,
  kGelu,      // x times the normal distribution's probability below x
  kGeluTanh,  // its approximation by tanh
  kTanh,
  kLeakyRelu,  // slope .01 below 0
  kHardSwish,  // x times a gate that rises from 0 at -3 to 1 at 3
};

struct ActivationRow {
  std::string_view name;  // in space files, exports and messages
  Activation function;
  char letter;                     // in a network's text (network_text.h)
  bool keeps_zero = true;          // f(0) = 0
  bool is_never_negative = false;  // f(x) >= 0 for every x
};

// kActivations is in the order of Activation.
inline constexpr std::array kActivations = {
    ActivationRow{"relu", Activation::kRelu, 'r', true, true},
    ActivationRow{"silu", Activation::kSilu, 's'},
    ActivationRow{"sigmoid", Activation::kSigmoid, 'g', false, true},
    ActivationRow{"gelu", Activation::kGelu, 'e'},
    ActivationRow{"gelu_tanh", Activation::kGeluTanh, 'E'},
    ActivationRow{"tanh", Activation::kTanh, 't'},
    ActivationRow{"leaky_relu", Activation::kLeakyRelu, 'R'},
    ActivationRow{"hard_swish", Activation::kHardSwish, 'S'},
};

constexpr const ActivationRow& row_of(Activation function) {
  return kActivations[static_cast<std::size_t>(function)];
}

constexpr std::string_view to_text(Activation function) {
  return row_of(function).name;
}

}  // namespace detol::inline encoding
