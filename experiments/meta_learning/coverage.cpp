// How well a designed sample covers a space, and how much a model learns from it.
//
//   coverage SPACE.yaml [TABLE.csv]     (the table of a space file with `table:`)
//
// For each searcher and number of trials, over 30 seeds: the mean distance of 1,000 random
// candidates to the nearest trial, by choices and by graphs; with a table also the Spearman
// correlation of a Gaussian process fitted to the trials with the table, over these candidates.
// Prints means.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "search/searcher.h"
#include "surrogate/features.h"
#include "surrogate/fit.h"
#include "surrogate/lazy_gp.h"
#include "trainer/table.h"

namespace {

using namespace detol;

constexpr int kDepth = 2;  // of the kernel of graphs
constexpr int kOthers = 1000;
constexpr std::uint64_t kSeeds = 30;

struct Distance {
  double choices = 0, graphs = 0;
};

Distance distance(const Point& a, const Point& b) {
  Distance d;
  for (std::size_t i = 0; i < a.numbers.size(); ++i)
    d.choices += (a.numbers[i] - b.numbers[i]) * (a.numbers[i] - b.numbers[i]);
  for (std::size_t i = 0; i < a.categories.size(); ++i)
    d.choices += a.categories[i] != b.categories[i];
  if (a.graph != nullptr) d.graphs = 1 - graph_kernel(*a.graph, *b.graph, kDepth);
  return d;
}

// Returns the mean distance of the others to the nearest trial, by choices and by graphs.
Distance mean_least(const Features& features, const std::vector<Trial>& trials,
                    const std::vector<Genome>& others) {
  std::vector<Point> points;
  for (const Trial& trial : trials) points.push_back(features.of(trial.genome));
  Distance mean;
  for (const Genome& other : others) {
    const Point x = features.of(other);
    Distance least{1e9, 1e9};
    for (const Point& point : points) {
      const Distance d = distance(x, point);
      least = {std::min(least.choices, d.choices), std::min(least.graphs, d.graphs)};
    }
    mean.choices += least.choices / kOthers;
    mean.graphs += least.graphs / kOthers;
  }
  return mean;
}

// Returns the ranks of the values, scaled to mean 0 and variance 1; equal values share theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](auto a, auto b) { return values[a] < values[b]; });
  const auto n = static_cast<double>(values.size());
  std::vector<double> all(values.size());
  for (std::size_t i = 0, j = 0; i < order.size(); i = j) {
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    const double mean = (static_cast<double>(i + j) - n) / 2;
    for (std::size_t k = i; k < j; ++k) all[order[k]] = mean * std::sqrt(12.0) / n;
  }
  return all;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const auto dot = [](const auto& u, const auto& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  return dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
}

std::optional<double> score(const StudyConfig& config, const Table& table, const Genome& genome) {
  const Table::Row* row = table.find(config.table_key(genome));
  return row == nullptr ? std::nullopt : std::optional(row->metrics.front());
}

double learned(const StudyConfig& config, const Table& table, const std::vector<Trial>& trials,
               const std::vector<Genome>& others) {
  const Features features(config.space);
  Points points = features.empty_points(), asked = features.empty_points();
  std::vector<double> y, truth, guess;
  for (const Trial& trial : trials) {
    const auto value = score(config, table, trial.genome);
    if (!value) continue;
    y.push_back(*value);
    points.push_back(features.of(trial.genome));
  }
  y = ranks(y);
  for (const Genome& genome : others) {
    const auto value = score(config, table, genome);
    if (!value) continue;
    truth.push_back(*value);
    asked.push_back(features.of(genome));
  }
  const LazyGp gp(features, fit(features, points, y, default_parameters(features)).parameters,
                  points, y);
  for (const Prediction& at : gp.predict(asked)) guess.push_back(at.mean);
  return spearman(guess, truth);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Override> overrides;
  if (count > 2) overrides.push_back({"data.path", arguments[2]});
  const auto config = read_study_config(count > 1 ? arguments[1] : "", overrides);
  if (!config) return std::fprintf(stderr, "coverage: %s\n", config.error().message.c_str()), 2;
  std::optional<Table> table;
  if (config->table) table = Table::load(*config->table).value();
  const Features features(config->space);
  std::printf("searcher trials choices graphs spearman (standard error)\n");
  for (const char* name : {"random", "sobol", "design"}) {
    for (const int n : {25, 50, 100, 200}) {
      Distance mean;
      double sum = 0, squares = 0;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto searcher = make_searcher(
            name, config->space, {.seed = seed, .objectives = config->objectives, .options = {}});
        const std::vector<Trial> trials = searcher.value()->ask(0, n);
        Rng rng(1000 + seed);
        std::vector<Genome> others;
        for (int i = 0; i < kOthers; ++i) others.push_back(config->space.sample(rng));
        const Distance least = mean_least(features, trials, others);
        mean.choices += least.choices / kSeeds;
        mean.graphs += least.graphs / kSeeds;
        if (!table) continue;
        const double correlation = learned(*config, *table, trials, others);
        sum += correlation;
        squares += correlation * correlation;
      }
      const double average = sum / kSeeds;
      const double error = std::sqrt((squares / kSeeds - average * average) / (kSeeds - 1));
      std::printf("%s %d %.3f %.3f %.3f (%.3f)\n", name, n, mean.choices, mean.graphs, average,
                  error);
      std::fflush(stdout);
    }
  }
}
