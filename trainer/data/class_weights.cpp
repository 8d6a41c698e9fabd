#include "trainer/data/class_weights.h"

#include <cmath>

namespace detol::inline trainer {
namespace {

std::vector<std::int64_t> training_images_of_classes(const Dataset& data) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(data.info.task.classes));
  const auto training = static_cast<std::size_t>(data.info.training);
  for (const std::int32_t label : std::span(data.labels).first(training))
    ++counts[static_cast<std::size_t>(label)];
  return counts;
}

}  // namespace

std::vector<float> class_weights_of(const Recipe& recipe, const Dataset& data) {
  const ClassWeighting weighting = class_weighting_of(recipe);
  if (weighting == ClassWeighting::kNone) return {};
  const double power = weighting == ClassWeighting::kSqrt ? 0.5 : 1;
  const std::vector<std::int64_t> counts = training_images_of_classes(data);
  const auto images = static_cast<double>(data.info.training);
  double sum = 0;  // of the powers of all images
  for (const std::int64_t count : counts) {
    if (count > 0)
      sum += static_cast<double>(count) * std::pow(images / static_cast<double>(count), power);
  }
  std::vector<float> weights;
  for (const std::int64_t count : counts) {
    const double own = count == 0 ? 0 : std::pow(images / static_cast<double>(count), power);
    weights.push_back(static_cast<float>(own * images / sum));
  }
  return weights;
}

void weigh(std::span<const float> class_weights, const Dataset& data, std::int64_t image,
           std::span<float> targets) {
  if (class_weights.empty()) return;
  const std::int32_t label = data.labels[static_cast<std::size_t>(image)];
  for (float& target : targets) target *= class_weights[static_cast<std::size_t>(label)];
}

}  // namespace detol::inline trainer
