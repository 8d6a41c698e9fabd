#pragma once

// The value and the slope of every activation function, once for all kinds of numbers: double, the
// float of a GPU's thread, a register of floats. E has the elementary functions of N.
//
// Sources: SiLU, Elfwing, Uchibe, Doya 2018 (arXiv:1702.03118); GELU, Hendrycks and Gimpel 2016
// (arXiv:1606.08415), whose tanh form is x sigmoid(2 u), as (1 + tanh u) / 2 = sigmoid(2 u); hard
// swish, Howard et al. 2019 (arXiv:1905.02244).

#include "core/elementary.h"
#include "encodings/network/activation.h"

namespace detol::inline encoding {

// Returns whether slope_of() takes the function's value instead of its argument, so that a backward
// pass need not keep the argument.
constexpr bool has_slope_of_value(Activation function) {
  return function == Activation::kRelu || function == Activation::kTanh ||
         function == Activation::kLeakyRelu;
}

// 2 u of gelu_tanh, as x (kGeluScale + kGeluCube x^2): twice sqrt(2 / pi), and .044715 times that.
inline constexpr double kGeluScale = 1.59576912160573071, kGeluCube = 0.07135481627260025;
inline constexpr double kLeakySlope = 0.01;

// Returns the function of x; NaN stays NaN.
template <Activation kFunction, typename N, typename E = Elementary<N>>
DETOL_ON_DEVICE inline N value_of(N x) {
  if constexpr (kFunction == Activation::kRelu) {
    return x < N{} ? N{} : x;
  } else if constexpr (kFunction == Activation::kSilu) {
    return x * E::sigmoid(x);
  } else if constexpr (kFunction == Activation::kSigmoid) {
    return E::sigmoid(x);
  } else if constexpr (kFunction == Activation::kGelu) {
    return x * E::normal(x);
  } else if constexpr (kFunction == Activation::kGeluTanh) {
    return x * E::sigmoid(x * (E::constant(kGeluScale) + E::constant(kGeluCube) * x * x));
  } else if constexpr (kFunction == Activation::kTanh) {
    return E::tanh(x);
  } else if constexpr (kFunction == Activation::kLeakyRelu) {
    return x < N{} ? E::constant(kLeakySlope) * x : x;
  } else {
    static_assert(kFunction == Activation::kHardSwish);
    const N three = E::constant(3), above = x + three;
    const N gate = x > three ? E::constant(1) : above * E::constant(1.0 / 6);
    return x < -three ? N{} : x * gate;
  }
}

// Returns the slope at an argument or, where has_slope_of_value(), at a value.
template <Activation kFunction, typename N, typename E = Elementary<N>>
DETOL_ON_DEVICE inline N slope_of(N at) {
  const N one = E::constant(1);
  if constexpr (kFunction == Activation::kRelu) {
    return at > N{} ? one : N{};
  } else if constexpr (kFunction == Activation::kSilu) {
    return E::silu_slope(at, E::sigmoid(at));
  } else if constexpr (kFunction == Activation::kSigmoid) {
    const N s = E::sigmoid(at);
    return s * (one - s);
  } else if constexpr (kFunction == Activation::kGelu) {
    // The second factor is the normal distribution's density, exp(-x^2 / 2) / sqrt(2 pi).
    return E::normal(at) +
           at * E::constant(0.39894228040143267794) * E::exp(E::constant(-0.5) * at * at);
  } else if constexpr (kFunction == Activation::kGeluTanh) {
    const N square = E::constant(kGeluCube) * at * at;
    const N s = E::sigmoid(at * (E::constant(kGeluScale) + square));
    return s + at * s * (one - s) * (E::constant(kGeluScale) + E::constant(3) * square);
  } else if constexpr (kFunction == Activation::kTanh) {
    return one - at * at;
  } else if constexpr (kFunction == Activation::kLeakyRelu) {
    return at < N{} ? E::constant(kLeakySlope) : one;
  } else {
    static_assert(kFunction == Activation::kHardSwish);
    const N three = E::constant(3);
    const N inside = at * E::constant(1.0 / 3) + E::constant(0.5);
    return at < -three ? N{} : at > three ? one : inside;
  }
}

// Returns the gradient of the argument from that of the value; `at` is as slope_of()'s.
template <Activation kFunction, typename N, typename E = Elementary<N>>
DETOL_ON_DEVICE inline N gradient_of(N at, N gradient) {
  if constexpr (kFunction == Activation::kRelu)
    return at > N{} ? gradient : N{};
  else
    return gradient * slope_of<kFunction, N, E>(at);
}

// Calls visit<function>() for a function that is known at run time, and returns what it returns.
template <typename Visit>
DETOL_ON_DEVICE inline auto with_function(Activation function, const Visit& visit) {
  switch (function) {
    case Activation::kSilu:
      return visit.template operator()<Activation::kSilu>();
    case Activation::kSigmoid:
      return visit.template operator()<Activation::kSigmoid>();
    case Activation::kGelu:
      return visit.template operator()<Activation::kGelu>();
    case Activation::kGeluTanh:
      return visit.template operator()<Activation::kGeluTanh>();
    case Activation::kTanh:
      return visit.template operator()<Activation::kTanh>();
    case Activation::kLeakyRelu:
      return visit.template operator()<Activation::kLeakyRelu>();
    case Activation::kHardSwish:
      return visit.template operator()<Activation::kHardSwish>();
    case Activation::kRelu:
      break;
  }
  return visit.template operator()<Activation::kRelu>();
}

template <typename N>
DETOL_ON_DEVICE inline N value_of(Activation function, N x) {
  return with_function(function, [x]<Activation kFunction>() { return value_of<kFunction>(x); });
}

template <typename N>
DETOL_ON_DEVICE inline N gradient_of(Activation function, N at, N gradient) {
  return with_function(function, [at, gradient]<Activation kFunction>() {
    return gradient_of<kFunction>(at, gradient);
  });
}

}  // namespace detol::inline encoding
