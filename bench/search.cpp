#include "bench/search.h"

#include "core/clock.h"
#include "search/searcher.h"

namespace detol::inline bench {
namespace {

constexpr TrialId kTrials = 500;  // of one study
constexpr int kStudies = 7;

Space cell_space() {
  SpaceBuilder builder;
  for (int i = 0; i < 6; ++i)
    builder.add_categorical("edge" + std::to_string(i), {"none", "skip", "conv1", "conv3", "pool"});
  return builder.build().value();
}

Space mixed_space() {
  SpaceBuilder builder;
  for (int i = 0; i < 3; ++i) {
    const std::string stage = "stages[" + std::to_string(i) + "].";
    builder.add_int(stage + "depth", 1, 3)
        .add_categorical(stage + "op", {"conv", "depthwise", "residual"})
        .add_numbers(stage + "channels", {16, 32, 64, 128}, {.ordered = true})
        .add_numbers(stage + "kernel", {3, 5, 7}, {.ordered = true});
  }
  return builder.add_categorical("optimizer", {"sgd", "adamw"})
      .add_float("momentum", 0.8, 0.99, {.when = {"optimizer", {"sgd"}}})
      .add_float("lr", 1e-4, 1, {.log = true})
      .add_float("dropout", 0, 0.5)
      .build()
      .value();
}

// Returns a loss with one best genome, which searchers can approach step by step.
double loss_of(const Space& space, const Genome& genome) {
  double loss = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!genome.is_active(i)) continue;
    const double offset = space.domains()[i].position_of(genome.codes()[i]) - 0.3;
    loss += offset * offset;
  }
  return loss;
}

double pairs_per_second(const SearcherRow& row, const Space& space, std::uint64_t seed) {
  const auto searcher =
      row.make(space, {.seed = seed, .objectives = {minimize("loss")}, .options = {}}).value();
  double spent_s = 0;
  double pairs = 0;
  for (TrialId id = 0; id < kTrials; ++id) {
    const double before_s = thread_seconds();
    const std::vector<Trial> trials = searcher->ask(id, 1);
    const double between_s = thread_seconds();
    spent_s += between_s - before_s;
    if (trials.empty()) break;
    const Measured outcome{.values = {loss_of(space, trials[0].genome)}, .fidelity = 1, .work = 1};
    const double told_s = thread_seconds();
    searcher->tell(trials[0], outcome);
    spent_s += thread_seconds() - told_s;
    ++pairs;
  }
  return pairs / spent_s;
}

}  // namespace

void bench_search(Figures& figures) {
  const Space cell = cell_space(), mixed = mixed_space();
  for (const SearcherRow& row : searchers()) {
    const auto measure = [&](const Space& space, std::string_view suffix) {
      std::uint64_t seed = 0;
      figures.measure("asks/" + std::string(row.name) + std::string(suffix), "1/s", kStudies,
                      [&] { return pairs_per_second(row, space, seed++); });
    };
    measure(cell, "");
    measure(mixed, ",space=mixed");
  }
}

}  // namespace detol::inline bench
