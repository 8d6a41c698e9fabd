// How many trials a second a study takes from a program: threads at a time, in batches, and one by one,
// beside the commits that the disk makes durable in a second.
//
//   throughput FOLDER [TRIALS] [ALGORITHM]

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"
#include "knowledge/ledger.h"
#include "scheduler/asking/study.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

template <typename T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}

Space space() {
  SpaceBuilder builder;
  for (int i = 0; i < 5; ++i) builder.add_float(fmt::format("x{}", i), -5, 5);
  return builder.build().value();
}

double sphere(const Genome& genome) {
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    const double x = genome.number(fmt::format("x{}", i));
    sum += x * x;
  }
  return sum;
}

// Returns the path of a database that is not there.
fs::path fresh(const fs::path& storage) {
  fs::remove(storage);
  fs::remove_all(storage.string() + ".d");
  return storage;
}

StudyOptions options(const fs::path& folder, const std::string& name, const std::string& algorithm,
                     int trials) {
  const fs::path storage = fresh(folder / (name + ".db"));
  return {.name = name,
          .storage = storage,
          .algorithm = algorithm,
          .budget = fmt::format("{}trials", trials)};
}

void print(const std::string& what, int count, double began_s) {
  fmt::print("{:<28}{:>10.0f}/s\n", what, count / (system_clock().now_s() - began_s));
}

void commits(const fs::path& folder) {
  const auto ledger = must(Ledger::open(fresh(folder / "commits.db")));
  const StudyId study = must(ledger->create_study({.name = "commits", .config = {}, .budget = {}, .objectives = {}}));
  constexpr int kCommits = 500;
  const double began_s = system_clock().now_s();
  for (int i = 0; i < kCommits; ++i) {
    const Event event = event::Accounted{.wall_s = static_cast<double>(i)};
    (void)ledger->append(study, {&event, 1});
  }
  print("durable commits", kCommits, began_s);
}

void threads(const fs::path& folder, const std::string& algorithm, int trials) {
  const double began_s = system_clock().now_s();
  must(optimize(
      space(), [](TrialContext& trial) { return sphere(trial.genome()); },
      options(folder, "threads", algorithm, trials), {.threads = 32}));
  print("32 threads", trials, began_s);
}

void batches(const fs::path& folder, const std::string& algorithm, int trials, int size) {
  Study study = must(open_study(space(), options(folder, "batches", algorithm, trials)));
  const double began_s = system_clock().now_s();
  for (auto asked = study.ask(size); asked; asked = study.ask(size)) {
    for (const AskedTrial& trial : *asked) (void)study.tell(trial, sphere(trial.genome));
  }
  print(fmt::format("asks of {}, tells one by one", size), trials, began_s);
}

}  // namespace
}  // namespace detol

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "throughput FOLDER [TRIALS] [ALGORITHM]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const int trials = argc > 2 ? std::atoi(argv[2]) : 10'000;
  const std::string algorithm = argc > 3 ? argv[3] : "random";
  detol::commits(folder);
  detol::threads(folder, algorithm, trials);
  detol::batches(folder, algorithm, trials / 4, 16);
  detol::batches(folder, algorithm, trials / 10, 1);
  detol::commits(folder);
}
