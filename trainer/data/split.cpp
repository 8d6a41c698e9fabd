#include "trainer/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.h"

namespace detol {
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

std::optional<int> class_without_images(const Split& split, std::span<const std::uint8_t> labels,
                                        int classes) {
  std::vector<bool> seen(static_cast<std::size_t>(classes), false);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (split.position[i] < split.training) seen[labels[i]] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return std::nullopt;
  return static_cast<int>(missing - seen.begin());
}

}  // namespace detol
