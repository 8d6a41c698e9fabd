// All searchers from an installed library, built by the test `installed_library` in a project of its own.

#include <detol/search/searcher.h>

#include <cstdio>
#include <cstdlib>

int main() {
  detol::Space space = detol::SpaceBuilder()
                           .add_float("lr", 1e-4, 1e-1, {.log = true})
                           .add_int("depth", 1, 8)
                           .add_categorical("opt", {"sgd", "adam"})
                           .add_float("momentum", 0.8, 0.99, {.when = {"opt", {"sgd"}}})
                           .build()
                           .value();
  auto searcher =
      detol::make_searcher("evolution", space,
                           {.seed = 7, .objectives = {detol::minimize("loss")}, .options = {}})
          .value();
  std::vector<detol::Trial> trials = searcher->ask(/*first_id=*/0, /*count=*/4);
  if (trials.size() != 4) return EXIT_FAILURE;
  double lr = trials[0].genome.number("lr");
  searcher->tell(trials[0], detol::Measured{.values = {0.31}});
  searcher->tell(trials[1], detol::Failed{.cause = detol::Cause::kDiverged});

  const bool is_sgd = trials[0].genome.text("opt") == "sgd";
  if (trials[0].genome.is_active("momentum") != is_sgd) return EXIT_FAILURE;
  if (detol::SpaceBuilder().add_bool("twice").add_bool("twice").build()) return EXIT_FAILURE;
  for (const detol::SearcherRow& row : detol::searchers()) {
    auto other = detol::make_searcher(row.name, space, {.objectives = {detol::minimize("loss")}});
    if (!other) return EXIT_FAILURE;
    for (detol::TrialId id = 0; id < 20; ++id) {
      for (const detol::Trial& trial : (*other)->ask(id, 1))
        (*other)->tell(trial, detol::Measured{.values = {trial.genome.number("lr")}});
    }
    std::printf("%.*s\n", static_cast<int>(row.name.size()), row.name.data());
  }
  return lr >= 1e-4 && lr <= 1e-1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
