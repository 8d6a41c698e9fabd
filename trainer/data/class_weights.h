#pragma once

// Class weights: by how much a training image of each class counts in the loss, so that rare
// classes are not outvoted. Of N training images in K classes, n of them in one, that class weighs
//
//   balanced   N / (K n): all classes weigh the same in all
//   sqrt       the square root of that, scaled
//
// K counts the classes that are there; the mean weight of the training images is 1.

#include <span>
#include <vector>

#include "encodings/study/recipe.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Returns the weight of each class, 0 of one without a training image; empty if the recipe has
// none. REQUIRES: data with labels, if the recipe has class weights.
std::vector<float> class_weights_of(const Recipe& recipe, const Dataset& data);

// Multiplies the targets of one image by the weight of its class; no weights: leaves them.
void weigh(std::span<const float> class_weights, const Dataset& data, std::int64_t image,
           std::span<float> targets);

}  // namespace detol::inline trainer
