#include "trainer/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace detol::inline trainer {
namespace {

// Place is the position of a step among those after warm-up.
struct Place {
  std::int64_t step = 0;  // after warm-up
  std::int64_t of = 1;
  std::int64_t epoch = 0;  // finished ones, including those of warm-up
};

double along_cosine(double from, double to, double share) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

double constant(const Recipe&, const Place&) {
  return 1;
}

double cosine(const Recipe&, const Place& place) {
  const double angle =
      std::numbers::pi * static_cast<double>(place.step) / static_cast<double>(place.of);
  return (1 + std::cos(angle)) / 2;
}

double linear(const Recipe&, const Place& place) {
  return 1 - static_cast<double>(place.step) / static_cast<double>(place.of);
}

double step(const Recipe& recipe, const Place& place) {
  const auto passed =
      std::ranges::count_if(recipe.milestones, [&](int epochs) { return epochs <= place.epoch; });
  const std::int64_t falls =
      recipe.milestones.empty() ? place.epoch / recipe.every_epochs : std::int64_t{passed};
  return std::pow(recipe.gamma, static_cast<double>(falls));
}

double one_cycle(const Recipe& recipe, const Place& place) {
  const auto at = static_cast<double>(place.step), all = static_cast<double>(place.of);
  const double top = recipe.rise * all - 1, first = 1 / recipe.divisor;
  if (at < top) return along_cosine(first, 1, at / top);
  return along_cosine(1, first / recipe.final_divisor, (at - top) / (all - 1 - top));
}

// Returns the share of the full rate that a step has.
double share_of(const Recipe& recipe, const Place& place) {
  switch (schedule_of(recipe)) {
    case ScheduleKind::kConstant:
      return constant(recipe, place);
    case ScheduleKind::kCosine:
      return cosine(recipe, place);
    case ScheduleKind::kLinear:
      return linear(recipe, place);
    case ScheduleKind::kStep:
      return step(recipe, place);
    case ScheduleKind::kOneCycle:
      return one_cycle(recipe, place);
  }
  return 1;
}

// Returns the rate that a schedule starts from or rises to.
double full_rate(const Recipe& recipe) {
  const double times =
      static_cast<double>(recipe.batch_size) / static_cast<double>(recipe.base_batch);
  switch (rate_scaling_of(recipe)) {
    case RateScaling::kNone:
      return recipe.lr;
    case RateScaling::kLinear:
      return recipe.lr * times;
    case RateScaling::kSqrt:
      return recipe.lr * std::sqrt(times);
  }
  return recipe.lr;
}

}  // namespace

double learning_rate(const Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  assert(step >= 0 && step < recipe.epochs * steps_per_epoch);
  const std::int64_t warmup =
      std::llround(recipe.warmup_epochs * static_cast<double>(steps_per_epoch));
  const double rate = full_rate(recipe);
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const Place place{.step = step - warmup,
                    .of = recipe.epochs * steps_per_epoch - warmup,
                    .epoch = step / steps_per_epoch};
  return rate * share_of(recipe, place);
}

}  // namespace detol::inline trainer
