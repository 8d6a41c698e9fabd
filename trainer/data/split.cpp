#include "trainer/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/hash.h"
#include "core/rng.h"

namespace detol::inline trainer {
namespace {

constexpr std::uint64_t kSplitSeed = 0x73706c6974;  // "split": changing it changes every score

using Order = std::vector<std::int64_t>;  // samples

std::size_t at(std::int64_t sample) {
  return static_cast<std::size_t>(sample);
}

// Splitter divides samples in two, again and again.
class Splitter {
 public:
  Splitter(const SplitConfig& config, const SplitKeys& keys) : config_(config), keys_(keys) {}

  // Returns the samples in the order in which parts of them are held out.
  Order ordered(const Order& samples) const {
    if (config_.by == "time") return by_time(samples);
    if (config_.by == "group") return by_group(samples);
    const Order shuffled = permuted(samples);
    return config_.by == "stratified" ? spread(shuffled) : shuffled;
  }

  // Returns where to cut the ordered samples so that about `count` come before: between groups, if
  // there are.
  std::size_t cut(const Order& order, std::size_t count) const {
    if (config_.by != "group") return count;
    const auto is_seam = [&](std::size_t i) {
      return i == 0 || i >= order.size() ||
             keys_.groups[at(order[i - 1])] != keys_.groups[at(order[i])];
    };
    std::size_t before = count, after = count;
    while (!is_seam(before)) --before;
    while (!is_seam(after)) ++after;
    return count - before <= after - count ? before : after;
  }

 private:
  Rng rng() const {
    return Rng(config_.seed == 0 ? kSplitSeed : hash_combine(kSplitSeed, config_.seed));
  }

  Order permuted(const Order& samples) const {
    Order places(samples.size()), order;
    std::iota(places.begin(), places.end(), 0);
    rng().shuffle(std::span(places));
    for (const std::int64_t place : places) order.push_back(samples[at(place)]);
    return order;
  }

  // Sorts by how far each sample is through its class, so that classes advance side by side.
  Order spread(const Order& shuffled) const {
    std::map<std::int32_t, double> sizes, seen;
    for (const std::int64_t sample : shuffled) ++sizes[keys_.classes[at(sample)]];
    struct Placed {
      double place;
      std::int64_t sample;
    };
    std::vector<Placed> all;
    for (const std::int64_t sample : shuffled) {
      const std::int32_t one = keys_.classes[at(sample)];
      all.push_back({(seen[one]++ + 0.5) / sizes[one], sample});
    }
    std::ranges::stable_sort(all, {}, &Placed::place);
    Order order;
    for (const Placed& placed : all) order.push_back(placed.sample);
    return order;
  }

  Order by_group(const Order& samples) const {
    std::map<std::int32_t, Order> members;
    for (const std::int64_t sample : samples) members[keys_.groups[at(sample)]].push_back(sample);
    std::vector<const Order*> groups;
    for (const auto& [group, all] : members) groups.push_back(&all);
    rng().shuffle(std::span(groups));
    Order order;
    for (const Order* group : groups) order.insert(order.end(), group->begin(), group->end());
    return order;
  }

  Order by_time(Order samples) const {
    std::ranges::sort(samples, {}, [&](std::int64_t sample) {
      return std::pair(keys_.times[at(sample)], sample);
    });
    return samples;
  }

  const SplitConfig& config_;
  const SplitKeys& keys_;
};

struct TwoWaySplit {
  Order kept, held_out;
};

TwoWaySplit two_way(const Order& order, std::size_t first, std::size_t last) {
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(last);
  TwoWaySplit split{Order(order.begin(), begin), Order(begin, end)};
  split.kept.insert(split.kept.end(), end, order.end());
  return split;
}

Result<TwoWaySplit> hold_out_test(const DataConfig& config, const Splitter& splitter,
                                  const Order& samples) {
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t wanted = std::llround(static_cast<double>(count) * config.test);
  const Order order = splitter.ordered(samples);
  const std::size_t first =
      splitter.cut(order, at(count - std::clamp<std::int64_t>(wanted, 0, count)));
  const std::int64_t held_out = count - static_cast<std::int64_t>(first);
  if (held_out < 1 || held_out > count - 2) {
    return fail(ErrorCode::kInput,
                fmt::format("{}: data.split.test {} of {} records holds {} out; that must be at "
                            "least one and leave at least two",
                            config.path, config.test, count, held_out));
  }
  return two_way(order, first, order.size());
}

Result<TwoWaySplit> hold_out_validation(const DataConfig& config, const Splitter& splitter,
                                        const Order& samples) {
  const Order order = splitter.ordered(samples);
  const auto count = static_cast<std::int64_t>(order.size());
  TwoWaySplit split;
  if (config.split.folds > 0) {
    const auto bound = [&](std::int64_t fold) {
      return splitter.cut(order, at(count * fold / config.split.folds));
    };
    split = two_way(order, bound(config.split.fold), bound(config.split.fold + 1));
  } else {
    const std::int64_t wanted = std::llround(static_cast<double>(count) * config.validation);
    split = two_way(order, splitter.cut(order, at(count - wanted)), order.size());
  }
  if (!split.kept.empty() && !split.held_out.empty()) return split;
  return fail(ErrorCode::kInput,
              fmt::format("data.split.validation {} of {} images leaves {} to train on and {} to "
                          "validate on; both need at least one",
                          config.validation, count, split.kept.size(), split.held_out.size()));
}

}  // namespace

std::uint64_t with_split(std::uint64_t fingerprint, const SplitConfig& split) {
  if (split.by == "random" && split.seed == 0 && split.folds == 0) return fingerprint;
  const auto settings =
      fmt::format("{} {} {} {} {}", split.by, split.column, split.seed, split.folds, split.fold);
  return hash_combine(fingerprint, hash64(settings));
}

std::vector<std::int32_t> tenths_of(std::span<const float> targets, std::size_t outputs) {
  const std::size_t samples = targets.size() / outputs;
  std::vector<std::size_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return targets[i * outputs]; });
  std::vector<std::int32_t> tenths(samples);
  for (std::size_t rank = 0; rank < samples; ++rank)
    tenths[order[rank]] = static_cast<std::int32_t>(rank * 10 / samples);
  return tenths;
}

Result<SplitAssignment> split_samples(const DataConfig& config, std::int64_t samples,
                                      const SeparateSplitSizes& separate, const SplitKeys& keys) {
  const Splitter splitter(config.split, keys);
  TwoWaySplit test, rest;
  test.kept.resize(at(samples));
  std::iota(test.kept.begin(), test.kept.end(), 0);
  if (!separate.test) {
    DETOL_ASSIGN(test, hold_out_test(config, splitter, test.kept));
  }
  if (separate.validation && config.split.folds > 0) {
    return fail(ErrorCode::kInput, config.path +
                                       ": data.split.folds: the data have validation "
                                       "files of their own; leave it out");
  }
  if (separate.validation) {
    rest.kept = test.kept;
  } else {
    DETOL_ASSIGN(rest, hold_out_validation(config, splitter, test.kept));
  }
  SplitAssignment assignment;
  assignment.training = static_cast<std::int64_t>(rest.kept.size());
  assignment.validation =
      separate.validation.value_or(static_cast<std::int64_t>(rest.held_out.size()));
  assignment.test = separate.test.value_or(static_cast<std::int64_t>(test.held_out.size()));
  assignment.position.resize(at(samples));
  const auto place = [&](const Order& part, std::int64_t position) {
    for (const std::int64_t sample : part) assignment.position[at(sample)] = position++;
  };
  place(rest.kept, 0);
  place(rest.held_out, assignment.training);
  place(test.held_out, assignment.training + assignment.validation);
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
