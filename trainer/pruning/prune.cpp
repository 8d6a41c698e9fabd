#include "trainer/pruning/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

namespace detol::inline trainer {
namespace {

constexpr double kMostRemoved = 0.9;  // of a layer group

// Ranking: the classes that may be removed, the least important first.
class Ranking {
 public:
  Ranking(const ChannelClasses& classes, const std::vector<double>& importance, int multiple)
      : classes_(classes), multiple_(multiple) {
    std::vector<std::size_t> all(importance.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::ranges::stable_sort(all, {}, [&](std::size_t one) { return importance[one]; });
    for (int group : classes.layer_group) ++sizes_[group];
    std::map<int, int> taken;
    for (std::size_t one : all) {
      const int group = classes.layer_group[one];
      if (classes.is_fixed[one] || taken[group] >= most_of(group)) continue;
      ++taken[group];
      order_.push_back(one);
    }
  }

  std::size_t size() const { return order_.size(); }

  // Returns which classes are removed if the first `count` are, but for the most important ones
  // that keep a layer group at a multiple.
  std::vector<bool> first(std::size_t count) const {
    std::vector<bool> removed(classes_.is_fixed.size());
    std::map<int, int> left = sizes_;
    for (std::size_t i = 0; i < count; ++i) {
      removed[order_[i]] = true;
      --left[classes_.layer_group[order_[i]]];
    }
    for (std::size_t i = count; i-- > 0;) {
      const int group = classes_.layer_group[order_[i]];
      const bool was_multiple = sizes_.at(group) % multiple_ == 0;
      if (!was_multiple || left[group] % multiple_ == 0) continue;
      removed[order_[i]] = false;
      ++left[group];
    }
    return removed;
  }

 private:
  int most_of(int group) const {
    return static_cast<int>(std::floor(kMostRemoved * sizes_.at(group)));
  }

  const ChannelClasses& classes_;
  const int multiple_;
  std::map<int, int> sizes_;  // of the layer groups
  std::vector<std::size_t> order_;
};

}  // namespace

Result<std::vector<bool>> channels_to_remove(const Network& network, const ChannelClasses& classes,
                                             const std::vector<double>& importance,
                                             const PruningTarget& target) {
  const Ranking ranking(classes, importance, target.multiple);
  const auto cost_without = [&](std::size_t count) -> Result<double> {
    DETOL_ASSIGN(const Network left, without_channels(network, classes, ranking.first(count)));
    return target.cost(left);
  };
  std::size_t too_few = 0, enough = ranking.size();
  DETOL_ASSIGN(const double least, cost_without(enough));
  if (least > target.limit) {
    return fail(ErrorCode::kEmpty,
                fmt::format("the network cannot be pruned to {:.4g}; at least {:.4g} is left",
                            target.limit, least));
  }
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    DETOL_ASSIGN(const double cost, cost_without(middle));
    (cost <= target.limit ? enough : too_few) = middle;
  }
  return ranking.first(enough);
}

}  // namespace detol::inline trainer
