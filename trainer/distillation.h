#pragma once

// Knowledge distillation (Hinton et al., 2015, arXiv 1503.02531): a network, the student, is
// trained on what a teacher says of the training images instead of on their labels or targets: on
// probabilities of the classes, which say more than a label does, or on predictions. The teacher
// sees each image once, without augmentation, and is sometimes wrong: its word is one part of the
// target, the data's own the other. Validation and test stay as they are.

#include <vector>

#include "encodings/network/task.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Returns what a teacher says as losses take targets, from its outputs (N x outputs).
std::vector<float> targets_from(std::vector<float> outputs, const Task& task);

// Makes `weight` times these targets, and 1 - weight times the data's own, those of training, and
// changes the fingerprint accordingly. REQUIRES: training x outputs; 0 < weight <= 1.
void teach(std::vector<float> targets, double weight, Dataset& data);

}  // namespace detol::inline trainer
