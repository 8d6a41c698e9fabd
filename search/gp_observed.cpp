#include "search/gp_observed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace detol::inline search {

std::vector<std::size_t> indices_below(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

double Observed::violation(std::size_t observation) const {
  double sum = 0;
  for (std::size_t i = first_constraint(); i < outcomes.size(); ++i)
    sum += std::max(0.0, outcomes[i][observation]);
  return sum;
}

std::vector<std::size_t> Observed::best(std::size_t most) const {
  std::vector<std::size_t> order = indices_below(size());
  const std::size_t count = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](std::size_t i) { return std::pair(violation(i), outcomes[0][i]); });
  order.resize(count);
  return order;
}

void Observed::sort_by_worth(std::vector<std::size_t>& order, std::size_t output) const {
  const bool is_constraint = output >= first_constraint();
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return is_constraint ? std::pair(0.0, std::abs(outcomes[output][i]))
                         : std::pair(violation(i), outcomes[output][i]);
  });
}

std::vector<std::size_t> Observed::chosen_for_fit(std::size_t output, std::size_t most,
                                                  Rng rng) const {
  std::vector<std::size_t> order = indices_below(size());
  if (order.size() <= most) return order;
  sort_by_worth(order, output);
  rng.shuffle(std::span(order).subspan(most / 3));
  order.resize(most);
  std::ranges::sort(order);
  return order;
}

std::vector<std::size_t> Observed::chosen_members(std::size_t most, Rng rng) const {
  const std::size_t n = size();
  std::vector<std::size_t> order = indices_below(n);
  if (n <= most) return order;
  std::vector<bool> is_chosen(n, false);
  std::size_t count = 0;
  const auto choose = [&](std::span<const std::size_t> ranked, std::size_t until) {
    for (std::size_t i : ranked) {
      if (count >= until) return;
      if (!is_chosen[i]) is_chosen[i] = true, ++count;
    }
  };
  const std::size_t outputs = outcomes.size();
  for (std::size_t output = 0; output < outputs; ++output) {
    sort_by_worth(order, output);
    choose(order, most / 2 * (output + 1) / outputs);
  }
  std::ranges::sort(order, std::greater<>());
  choose(order, most / 4 * 3);
  rng.shuffle(std::span(order));
  choose(order, most);
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < n; ++i) {
    if (is_chosen[i]) members.push_back(i);
  }
  return members;
}

}  // namespace detol::inline search
