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

Result<Split> split_training(std::int64_t images, double share) {
  Split split;
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

Result<Places> split_samples(const DataConfig& config, std::int64_t samples, const OwnSplits& own) {
  Places places;
  std::vector<std::int64_t> outer(static_cast<std::size_t>(samples));
  std::iota(outer.begin(), outer.end(), 0);
  std::int64_t held_out = 0;
  if (!own.test) {
    held_out = std::llround(static_cast<double>(samples) * config.test);
    if (held_out < 1 || held_out > samples - 2) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: data.split.test {} of {} records holds {} out; that must be at "
                              "least one and leave at least two",
                              config.path, config.test, samples, held_out));
    }
    DETOL_ASSIGN(Split split, split_training(samples, config.test));
    outer = std::move(split.position);
  }
  const std::int64_t rest = samples - held_out;
  places.training = rest;
  places.validation = own.validation.value_or(0);
  std::vector<std::int64_t> inner;
  if (!own.validation) {
    DETOL_ASSIGN(Split split, split_training(rest, config.validation));
    places.training = split.training;
    places.validation = split.validation;
    inner = std::move(split.position);
  }
  places.test = own.test.value_or(held_out);
  const std::int64_t own_before_test = own.validation.value_or(0);
  for (const std::int64_t at : outer) {
    const bool is_test = at >= rest;
    places.position.push_back(is_test         ? at + own_before_test
                              : inner.empty() ? at
                                              : inner[static_cast<std::size_t>(at)]);
  }
  return places;
}

std::optional<int> class_without_images(const Places& places, std::span<const std::int32_t> labels,
                                        int classes) {
  // If there are more classes than labels, one of the first labels.size() + 1 is missing; so a huge
  // label of a damaged file takes no memory.
  const auto looked_at = std::min(static_cast<std::size_t>(classes), labels.size() + 1);
  std::vector<bool> seen(looked_at, false);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (places.position[i] < places.training && label < looked_at) seen[label] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return std::nullopt;
  return static_cast<int>(missing - seen.begin());
}

}  // namespace detol::inline trainer
