#include "bench/proposals.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/clock.h"
#include "core/rng.h"
#include "search/searcher.h"

namespace detol::inline bench {
namespace {

struct HistorySize {
  int n;     // trials told before
  int asks;  // measured asks
};

constexpr std::array kHistorySizes = {HistorySize{100, 200}, HistorySize{1000, 200},
                                      HistorySize{10'000, 100}};
constexpr int kRuns = 3, kEvaluations = 500;

Space ten_dimensional_space() {
  SpaceBuilder builder;
  for (int i = 0; i < 10; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  return builder.build().value();
}

// A bowl with ripples: a trend that a search can follow, with many local minima.
Measured rippled_bowl(const Genome& genome) {
  double sum = 0;
  for (const double x : genome.codes()) {
    const double offset = x - 0.3;
    sum += offset * offset + 0.02 * (1 - std::cos(30 * offset));
  }
  return {.values = {sum}};
}

std::unique_ptr<Searcher> make_gp_searcher(const Space& space, std::uint64_t seed) {
  return make_searcher("gp", space, {.seed = seed, .objectives = {minimize("loss")}, .options = {}})
      .value();
}

void refit_elsewhere(Searcher& searcher) {
  if (const auto job = searcher.background()) searcher.absorb((*job)());
}

std::vector<double> asks_ms(const HistorySize& size) {
  const Space space = ten_dimensional_space();
  const auto searcher = make_gp_searcher(space, 1);
  Rng rng(2);
  TrialId id = 0;
  for (int i = 0; i < size.n; ++i, ++id) {
    const Trial random_trial{id, space.sample(rng)};
    searcher->tell(random_trial, rippled_bowl(random_trial.genome));
  }
  refit_elsewhere(*searcher);
  std::vector<double> asks_ms;
  for (int i = 0; i < size.asks; ++i, ++id) {
    const double before_s = thread_seconds();
    const Trial trial = searcher->ask(id, 1).at(0);
    asks_ms.push_back(1e3 * (thread_seconds() - before_s));
    searcher->tell(trial, rippled_bowl(trial.genome));
    refit_elsewhere(*searcher);
  }
  return asks_ms;
}

double run_s(std::uint64_t seed) {
  const Space space = ten_dimensional_space();
  const auto searcher = make_gp_searcher(space, seed);
  const double before_s = thread_seconds();
  for (TrialId id = 0; id < kEvaluations; ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    searcher->tell(trial, rippled_bowl(trial.genome));
  }
  return thread_seconds() - before_s;
}

}  // namespace

void bench_proposals(Figures& figures) {
  for (const HistorySize& size : kHistorySizes) {
    const std::string suffix = "/n=" + std::to_string(size.n);
    if (!figures.wants("ask_p50" + suffix) && !figures.wants("ask_p99" + suffix)) continue;
    std::vector<double> measured = asks_ms(size);
    std::ranges::sort(measured);
    for (const std::size_t percent : {50, 99}) {
      figures.add({.name = "ask_p" + std::to_string(percent) + suffix,
                   .value = measured[(measured.size() - 1) * percent / 100],
                   .unit = "ms",
                   .n = std::ssize(measured)});
    }
  }
  std::uint64_t seed = 0;
  figures.measure("run/d=10,evals=" + std::to_string(kEvaluations), "s", kRuns,
                  [&] { return run_s(seed++); });
}

}  // namespace detol::inline bench
