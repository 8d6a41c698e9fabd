#include "trainer/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.h"

namespace detol::inline trainer {
namespace {

constexpr std::uint64_t kSplitSeed = 0x73706c6974;  // "split": changing it changes every score

}  // namespace

Result<TwoWaySplit> split_training(std::int64_t images, double share) {
  TwoWaySplit split;
  split.validation = std::llround(static_cast<double>(images) * share);
  split.training = images - split.validation;
  if (split.validation < 1 || split.training < 1) {
    return fail(ErrorCode::kInput,
                fmt::format("data.split.validation {} of {} images leaves {} to train on and {} to "
                            "validate on; both need at least one",
                            share, images, split.training, split.validation));
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(images));
  std::iota(order.begin(), order.end(), 0);
  Rng(kSplitSeed).shuffle(std::span(order));
  split.position.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    split.position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  return split;
}

Result<SplitAssignment> split_samples(const DataConfig& config, std::int64_t samples,
                                      const SeparateSplitSizes& separate) {
  SplitAssignment assignment;
  std::vector<std::int64_t> outer(static_cast<std::size_t>(samples));
  std::iota(outer.begin(), outer.end(), 0);
  std::int64_t held_out = 0;
  if (!separate.test) {
    held_out = std::llround(static_cast<double>(samples) * config.test);
    if (held_out < 1 || held_out > samples - 2) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: data.split.test {} of {} records holds {} out; that must be at "
                              "least one and leave at least two",
                              config.path, config.test, samples, held_out));
    }
    DETOL_ASSIGN(TwoWaySplit split, split_training(samples, config.test));
    outer = std::move(split.position);
  }
  const std::int64_t rest = samples - held_out;
  assignment.training = rest;
  assignment.validation = separate.validation.value_or(0);
  std::vector<std::int64_t> inner;
  if (!separate.validation) {
    DETOL_ASSIGN(TwoWaySplit split, split_training(rest, config.validation));
    assignment.training = split.training;
    assignment.validation = split.validation;
    inner = std::move(split.position);
  }
  assignment.test = separate.test.value_or(held_out);
  const std::int64_t separate_before_test = separate.validation.value_or(0);
  for (const std::int64_t at : outer) {
    const bool is_test = at >= rest;
    assignment.position.push_back(is_test         ? at + separate_before_test
                                  : inner.empty() ? at
                                                  : inner[static_cast<std::size_t>(at)]);
  }
  return assignment;
}

std::optional<int> class_without_images(const SplitAssignment& assignment,
                                        std::span<const std::int32_t> labels, int classes) {
  // If there are more classes than labels, one of the first labels.size() + 1 is missing; so a huge
  // label of a damaged file takes no memory.
  const auto looked_at = std::min(static_cast<std::size_t>(classes), labels.size() + 1);
  std::vector<bool> seen(looked_at, false);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (assignment.position[i] < assignment.training && label < looked_at) seen[label] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return std::nullopt;
  return static_cast<int>(missing - seen.begin());
}

}  // namespace detol::inline trainer
