// The importance of PED-ANOVA (Watanabe, Bansal and Hutter, 2023, "PED-ANOVA: Efficiently
// Quantifying Hyperparameter Importance in Arbitrary Subspaces", IJCAI, arXiv 2304.10255): a choice
// matters if its values are distributed otherwise among the best trials (here: a quarter, g = 1/4)
// than among all trials. The distance is the Pearson divergence D of the two distributions, here
// histograms: a bin per value, or up to ten bins of equally many trials, so that neither a
// logarithmic scale nor a search that gathered in one place needs to be corrected for.
//
//   p_b, t_b    the share of bin b of all trials, and of the best
//   D           sum over b of p_b (t_b / p_b - 1)^2
//   R^2         D g / (1 - g)
//
// R^2 is the share of the variance of the indicator "is among the best" that the bins explain: 0
// where a choice is irrelevant, 1 where it alone decides. Example: 8 trials, sgd 4 times, both of
// the best 2 are sgd: D = 1/2 (1)^2 + 1/2 (-1)^2 = 1, R^2 = 1/3.
//
// k bins of n trials explain (k - 1) / (n - 1) by chance: exactly the mean over all permutations of
// the losses. The adjusted R^2 = 1 - (1 - R^2) (n - 1) / (n - k) has mean 0 there.
//
// Only who is among the best counts, so trials that a pruner ended early may take part: it ended
// them because they were not. Trials with equal losses at the border belong to the best in equal
// parts. A choice that exists under a condition is measured among the trials that have it, by their
// own best quarter, and weighted by their share; whether to have it is the importance of its
// parent.
//
// The error bars resample trials with replacement. The repeated trials of a resample make every
// choice look more important, so only the spread of the resamples is used, around the value.
#include "surrogate/importance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/rng.h"

namespace detol::inline surrogate {
namespace {

constexpr double kBest = 0.25;  // the share of the trials that are the best
constexpr double kMostBins = 10;
constexpr std::size_t kBootstraps = 200;
constexpr double kTail = 0.025;  // of the bootstrap's distribution, on each side
constexpr std::uint64_t kBootstrapSeed = 20230412;

// ScoredTrial has NaN as the code of a choice that the candidate does not express.
struct ScoredTrial {
  double loss = 0;
  std::vector<double> codes;
};

// Orders trials by loss, then by codes, so that the order in which they came changes nothing.
bool comes_first(const ScoredTrial& a, const ScoredTrial& b) {
  if (a.loss != b.loss) return a.loss < b.loss;
  const auto smaller = [](double x, double y) {
    return x < y || (std::isnan(y) && !std::isnan(x));
  };
  return std::ranges::lexicographical_compare(a.codes, b.codes, smaller);
}

std::vector<ScoredTrial> sorted_trials(const Space& space, std::span<const Genome> genomes,
                                       std::span<const double> losses) {
  std::vector<ScoredTrial> trials;
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    if (!std::isfinite(losses[i])) continue;
    const std::span<const double> codes = genomes[i].codes();
    ScoredTrial& trial =
        trials.emplace_back(ScoredTrial{losses[i], std::vector(codes.begin(), codes.end())});
    const std::vector<bool> counts = space.expressed(genomes[i]);
    for (std::size_t d = 0; d < codes.size(); ++d) {
      if (!counts[d]) trial.codes[d] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  std::ranges::sort(trials, comes_first);
  return trials;
}

constexpr std::size_t kNoBin = std::numeric_limits<std::size_t>::max();

// Bins holds the bin of every trial for one choice; kNoBin where it is not expressed.
struct Bins {
  std::vector<std::size_t> of;
  std::size_t count = 0;
  std::size_t expressed = 0;  // trials
};

// Puts equal values into one bin; an ordered choice of many values has about the square root of the
// number of trials as bins, each with about as many trials.
Bins bins_of(const Domain& domain, std::size_t index, std::span<const ScoredTrial> trials) {
  std::vector<double> values;
  for (const ScoredTrial& trial : trials) {
    if (!std::isnan(trial.codes[index])) values.push_back(trial.codes[index]);
  }
  std::ranges::sort(values);
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const double n = static_cast<double>(values.size());
  const double most = std::clamp(std::floor(std::sqrt(n)), 2.0, kMostBins);
  const bool by_rank = domain.is_ordered() && static_cast<double>(distinct.size()) > most;
  const auto bin_of = [&](double value) {
    if (!by_rank)
      return static_cast<std::size_t>(std::ranges::lower_bound(distinct, value) - distinct.begin());
    const auto [first, last] = std::equal_range(values.begin(), values.end(), value);
    const double middle = static_cast<double>(first - values.begin() + last - values.begin()) / 2;
    return static_cast<std::size_t>(most * middle / n);
  };
  Bins bins{.of = std::vector(trials.size(), kNoBin), .expressed = values.size()};
  bins.count = by_rank ? static_cast<std::size_t>(most) : distinct.size();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (const double code = trials[i].codes[index]; !std::isnan(code)) bins.of[i] = bin_of(code);
  }
  return bins;
}

// Returns, for every trial, the end of the run of trials with its loss.
std::vector<std::size_t> ends_of_ties(std::span<const ScoredTrial> trials) {
  std::vector<std::size_t> ends(trials.size(), trials.size());
  for (std::size_t i = trials.size(); i-- > 1;)
    ends[i - 1] = trials[i - 1].loss == trials[i].loss ? ends[i] : i;
  return ends;
}

// Tally sums over the trials of each bin how often they occur, and how often among the best.
struct Tally {
  std::vector<double> all, best;
  double squares = 0;  // of the membership among the best
};

// REQUIRES: `counts` says how often each trial occurs.
Tally tally_of(const Bins& bins, std::span<const std::size_t> tie_end,
               std::span<const double> counts) {
  Tally tally{.all = std::vector<double>(bins.count), .best = std::vector<double>(bins.count)};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (bins.of[i] != kNoBin) tally.all[bins.of[i]] += counts[i];
  }
  double left = kBest * std::accumulate(tally.all.begin(), tally.all.end(), 0.0);
  for (std::size_t begin = 0; begin < counts.size() && left > 0; begin = tie_end[begin]) {
    double tied = 0;
    for (std::size_t i = begin; i < tie_end[begin]; ++i)
      tied += bins.of[i] == kNoBin ? 0 : counts[i];
    const double membership = tied > left ? left / tied : 1;
    left -= membership * tied;
    tally.squares += membership * membership * tied;
    for (std::size_t i = begin; i < tie_end[begin]; ++i) {
      if (bins.of[i] != kNoBin) tally.best[bins.of[i]] += membership * counts[i];
    }
  }
  return tally;
}

// Returns the adjusted R^2, weighted by the share of the trials that express the choice.
double adjusted(const Tally& tally, double trials) {
  double n = 0, bins = 0, between = 0;
  for (std::size_t b = 0; b < tally.all.size(); ++b) {
    if (tally.all[b] == 0) continue;
    ++bins;
    n += tally.all[b];
    between += tally.best[b] * tally.best[b] / tally.all[b];
  }
  const double square_of_mean = n * kBest * kBest;
  const double total = tally.squares - square_of_mean;
  if (bins < 2 || n <= bins || total <= 1e-9 * n) return 0;
  const double explained = (between - square_of_mean) / total;
  return n / trials * (1 - (1 - explained) * (n - 1) / (n - bins));
}

// Resamples holds the importance of each choice in every bootstrap sample in which enough trials
// express it.
using Resamples = std::vector<std::vector<double>>;

Resamples resampled(std::span<const Bins> choices, std::span<const std::size_t> tie_end) {
  const std::size_t n = tie_end.size();
  Resamples resamples(choices.size());
  Rng rng(kBootstrapSeed);
  for (std::size_t round = 0; round < kBootstraps; ++round) {
    std::vector<double> counts(n);
    for (std::size_t i = 0; i < n; ++i) ++counts[rng.below(n)];
    for (std::size_t d = 0; d < choices.size(); ++d) {
      if (choices[d].expressed < kLeastTrialsForImportance) continue;
      const Tally tally = tally_of(choices[d], tie_end, counts);
      resamples[d].push_back(adjusted(tally, static_cast<double>(n)));
    }
  }
  return resamples;
}

// REQUIRES: at least one resample.
void add_interval(ChoiceImportance& row, double estimate, std::vector<double> resamples) {
  std::ranges::sort(resamples);
  const double count = static_cast<double>(resamples.size());
  const double mean = std::accumulate(resamples.begin(), resamples.end(), 0.0) / count;
  const auto skipped = static_cast<std::size_t>(kTail * count);
  const auto bound = [&](std::size_t place) {
    return std::clamp(estimate + resamples[place] - mean, 0.0, 1.0);
  };
  row.low = std::min(row.value, bound(skipped));
  row.high = std::max(row.value, bound(resamples.size() - 1 - skipped));
}

}  // namespace

std::vector<ChoiceImportance> importance_of(const Space& space, std::span<const Genome> genomes,
                                            std::span<const double> losses) {
  assert(genomes.size() == losses.size());
  const std::vector<ScoredTrial> trials = sorted_trials(space, genomes, losses);
  const std::vector<std::size_t> tie_end = ends_of_ties(trials);
  std::vector<Bins> choices;
  for (std::size_t d = 0; d < space.size(); ++d)
    choices.push_back(bins_of(space.domains()[d], d, trials));
  const Resamples resamples = resampled(choices, tie_end);
  const std::vector<double> once(trials.size(), 1.0);
  constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
  std::vector<ChoiceImportance> rows;
  for (std::size_t d = 0; d < space.size(); ++d) {
    ChoiceImportance& row = rows.emplace_back(
        ChoiceImportance{d, choices[d].expressed, kNotMeasured, kNotMeasured, kNotMeasured});
    if (resamples[d].empty()) continue;
    const double estimate =
        adjusted(tally_of(choices[d], tie_end, once), static_cast<double>(trials.size()));
    row.value = std::clamp(estimate, 0.0, 1.0);
    add_interval(row, estimate, resamples[d]);
  }
  std::ranges::stable_sort(rows, [](const ChoiceImportance& a, const ChoiceImportance& b) {
    return a.value > b.value || (std::isnan(b.value) && !std::isnan(a.value));
  });
  return rows;
}

}  // namespace detol::inline surrogate
