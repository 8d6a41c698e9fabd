#pragma once

// The parts of the optimiser's step that backends share; the formulas are in optimizer_functions.h.
// With the gradient g of the whole batch,
// weight decay d (0 for biases and normalisation), rate lr of this step, momentum m, per element:
//
//   sgd      g += d w;  v = m v + g;  w -= lr (g + m v), or lr v without Nesterov
//   adamw    w -= lr d w;  a = m a + (1 - m) g;  b = beta2 b + (1 - beta2) g^2;
//            w -= lr (a / (1 - m^t)) / (sqrt(b / (1 - beta2^t)) + epsilon),  t = step + 1
//   adam     g += d w;  then as adamw, whose weights do not decay by themselves
//   rmsprop  g += d w;  b = beta2 b + (1 - beta2) g^2;  v = m v + g / (sqrt(b) + epsilon);
//            w -= lr v
//   lars     v = m v + rate (g + d w);  w -= v, where a tensor that decays has the rate
//            lr trust |w| / (|g| + d |w|), the norms over the whole tensor, and any other has lr
//
// sgd (Sutskever et al., 2013), adam (Kingma and Ba, 2015, arXiv 1412.6980), adamw (Loshchilov and
// Hutter, 2019, arXiv 1711.05101) and rmsprop (Hinton, 2012; not centred, epsilon outside the root)
// are PyTorch's; lars is algorithm 1 of You, Gitman and Ginsburg (2017, arXiv 1708.03888). A lars
// tensor whose weights or gradients are all zero has lr, too.
//
// Before the step, if clip_norm is given, all gradients are multiplied by
// min(1, clip_norm / (norm + 1e-6)), the norm being over all tensors together (Pascanu et al.,
// 2013; PyTorch's clip_grad_norm_). Non-finite gradients stay so, to be seen in the loss.
//
// After the step, if `ema` is given, the average of the weights moves: a = c a + (1 - c) w with
// c = min(ema, (1 + step) / (10 + step)), so that it forgets the initial weights (TensorFlow's
// ExponentialMovingAverage). Running statistics are averaged, too, as they belong to the weights of
// their layers.

#include <span>

#include "encodings/study/recipe.h"

namespace detol::inline trainer {

double clip_factor(const Recipe& recipe, double norm);

// Returns the rate of a tensor that decays. REQUIRES: lars.
double lars_rate(const Recipe& recipe, double lr, double weight_norm, double gradient_norm);

// Returns c, the share of its old value that the average keeps in this step.
double average_decay(const Recipe& recipe, std::int64_t step);

// Add up in a fixed order, in double precision.
double sum_of_squares(std::span<const float> values);
double sum_of_squares(std::span<const double> values);

}  // namespace detol::inline trainer
