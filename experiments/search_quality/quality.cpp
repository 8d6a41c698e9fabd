// Runs one algorithm on one task for several seeds, through the real driver and a real ledger, with
// workers in virtual time:
//
//   search_quality SPACE_FILE DATA ALGORITHM FIRST_SEED SEEDS EVALUATIONS WORKERS FOLDER
//
// ALGORITHM is a name, or NAME:OPTION=VALUE;OPTION=VALUE with options. DATA is the table, or "-" if
// there is none. Each seed writes its ledger to FOLDER, which is then emptied. stdout is a CSV: a
// line whenever the best value improves, and one at the end of each seed. Of a function with noise
// it also has the values without noise of the trial with the best value and of the one that
// recommend() ranks first, and lines after 50, 100 and 200 evaluations.
//
//   search_quality --values SPACE_FILE
//
// prints the number of a function's parameters and its noise, reads lines of so many numbers in
// [0, 1] and prints the value without noise at each.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "core/table.h"
#include "encodings/study/study_config.h"
#include "experiments/search_quality/words.h"
#include "knowledge/ledger.h"
#include "scheduler/driver.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/simulation/simulated_pool.h"
#include "scheduler/simulation/training_models.h"
#include "search/recommendation.h"
#include "search/searcher.h"
#include "trainer/formulas.h"

namespace detol {
namespace {

constexpr std::array kPoints = {50, 100, 200};  // evaluations that `run` compares at
constexpr double kWorkPerSecond = 1e9;  // of a simulated worker; a trial without work takes 1 s

struct Run {
  std::string space_file, data, algorithm;
  int first_seed = 0, seeds = 0, evaluations = 0, workers = 0;
  std::filesystem::path folder;
};

// Returns a function without its noise.
BenchmarkFunction without_noise(FunctionConfig function) {
  function.options.erase("noise");
  return find_row(formulas(), function.name)->make(function);
}

// Returns the study's function without its noise, if it has some.
std::optional<BenchmarkFunction> exact_function(const StudyConfig& config) {
  if (!config.function || config.function->number("noise") == 0) return std::nullopt;
  return without_noise(*config.function);
}

// Prints the best value by the study's objective, infinite while no trial keeps its constraints,
// and what else is known of its trial: the metric reported with it that is no objective, or its
// value without noise.
class Trace final : public Observer {
 public:
  Trace(const StudyConfig& config, VirtualClock& clock)
      : config_(config), clock_(clock), exact_(exact_function(config)) {
    constexpr double kWorst = std::numeric_limits<double>::infinity();
    const bool minimizes = config.objectives.front().direction == Direction::kMinimize;
    best_ = other_ = minimizes ? kWorst : -kWorst;
  }

  void happened(const Event& event, const StudyState& state) override {
    const auto* told = std::get_if<event::Told>(&event);
    if (told != nullptr && std::holds_alternative<Failed>(told->outcome)) ++evaluations_;
    const auto* reported = std::get_if<event::Reported>(&event);
    if (reported == nullptr) return;
    ++evaluations_;
    const TrialRecord& record = *state.find(reported->trial);
    const double value = record.values.front();
    if (exact_) measured_.push_back({reported->trial, record.trial.genome, value});
    const bool is_point = exact_ && std::ranges::find(kPoints, evaluations_) != kPoints.end();
    const Direction direction = config_.objectives.front().direction;
    const bool is_best = !record.breaks_constraints && is_better(direction, value, best_);
    if (is_best) see_best(*reported, record);
    if (is_best || is_point || evaluations_ == 1) print();
  }

  void print() const {
    fmt::print("{},{},{},{:.6g},{:.9g},{:.9g},{},{}\n", config_.algorithm.name, config_.seed,
               evaluations_, clock_.now, best_, other_, proposer_, recommended());
  }

 private:
  void see_best(const event::Reported& reported, const TrialRecord& record) {
    best_ = other_ = record.values.front();
    if (exact_) other_ = exact_->values(record.trial.genome).front();
    for (const auto& [name, measured] : reported.metrics) {
      if (std::ranges::find(config_.objectives, name, &Objective::metric) ==
          config_.objectives.end())
        other_ = measured;
    }
    proposer_ = record.trial.proposer;
  }

  // Returns the value without noise of the trial that recommend() ranks first; empty without noise.
  std::string recommended() const {
    if (!exact_ || measured_.size() < kLeastTrialsToRecommend) return "";
    const Direction direction = config_.objectives.front().direction;
    const TrialId best = recommend(config_.space, direction, measured_).front().id;
    const Genome& genome = std::ranges::find(measured_, best, &MeasuredTrial::id)->genome;
    return fmt::format("{:.9g}", exact_->values(genome).front());
  }

  const StudyConfig& config_;
  VirtualClock& clock_;
  const std::optional<BenchmarkFunction> exact_;
  std::vector<MeasuredTrial> measured_;  // of a function with noise
  int evaluations_ = 0;
  double best_ = 0, other_ = 0;
  std::string proposer_;
};

// Decodes: candidates of which nothing is known before they are evaluated.
class Decodes final : public Candidates {
 public:
  explicit Decodes(const StudyConfig& config) : config_(config) {}
  Decoded decode(const Genome& genome) override { return config_.candidate(genome, {}); }

 private:
  const StudyConfig& config_;
};

Result<void> search(const StudyConfig& config, const Run& run, Evaluator& evaluator) {
  const std::filesystem::path file =
      run.folder / fmt::format("{}-{}.db", config.algorithm.name, config.seed);
  DETOL_ASSIGN(const auto ledger, Ledger::open(file));
  DETOL_ASSIGN(const StudyId study, ledger->create_study({.name = config.study,
                                                          .config = config.text,
                                                          .budget = config.budget,
                                                          .objectives = config.objectives}));
  DETOL_ASSIGN(const auto searcher,
               make_searcher(config.algorithm.name, config.space,
                             {.seed = config.seed,
                              .objectives = config.objectives,
                              .options = config.algorithm.options,
                              .constraints = config.metric_constraints.size()}));
  DETOL_ASSIGN(const auto pruner, make_pruner("none", {.max_epochs = 1, .options = {}}));
  DETOL_ASSIGN(const Budget budget, parse_budget(fmt::format("{}trials", run.evaluations)));
  VirtualClock clock;
  const Pace pace(config.space, config.seed, {.work_per_s = kWorkPerSecond});
  Decodes candidates(config);
  const auto model = make_evaluated_model({config, pace, candidates}, evaluator);
  SimulatedPool pool({.workers = run.workers, .most_events = 1}, *model, clock);
  Trace trace(config, clock);
  Driver driver({.config = config,
                 .candidates = candidates,
                 .ledger = *ledger,
                 .study = study,
                 .searcher = *searcher,
                 .pruner = *pruner,
                 .pool = pool,
                 .clock = clock,
                 .observers = {&trace},
                 .budget = budget});
  DETOL_TRY(driver.run());
  trace.print();
  return {};
}

void remove_ledgers(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    std::filesystem::remove_all(entry.path());
}

Result<void> search_all(const Run& run) {
  DETOL_ASSIGN(StudyConfig config, read_study_config(run.space_file));
  if (run.data != "-") config.data.path = run.data;
  config.algorithm = named(run.algorithm);
  DETOL_ASSIGN(const auto evaluator, make_evaluator(config, {}));
  for (int i = 0; i < run.seeds; ++i) {
    config.seed = static_cast<std::uint64_t>(run.first_seed + i);
    DETOL_TRY(search(config, run, *evaluator));
    remove_ledgers(run.folder);
  }
  return {};
}

Result<void> print_values_of(const std::string& space_file) {
  DETOL_ASSIGN(const StudyConfig config, read_study_config(space_file));
  if (!config.function) return fail(ErrorCode::kUsage, space_file + " has no function");
  const BenchmarkFunction function = without_noise(*config.function);
  print_values(config.space, config.function->number("noise"),
               [&](const Genome& genome) { return function.values(genome).front(); });
  return {};
}

int whole(std::string_view word) {
  int number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

int finish(const Result<void>& done) {
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}

int main_of(std::span<char*> words) {
  if (words.size() == 3 && std::string_view(words[1]) == "--values")
    return finish(print_values_of(words[2]));
  if (words.size() != 9) {
    fmt::print(stderr,
               "usage: {} SPACE_FILE DATA ALGORITHM FIRST_SEED SEEDS EVALUATIONS WORKERS FOLDER\n"
               "       {} --values SPACE_FILE\n",
               words[0], words[0]);
    return 2;
  }
  const Run run{.space_file = words[1],
                .data = words[2],
                .algorithm = words[3],
                .first_seed = whole(words[4]),
                .seeds = whole(words[5]),
                .evaluations = whole(words[6]),
                .workers = whole(words[7]),
                .folder = words[8]};
  return finish(search_all(run));
}

}  // namespace
}  // namespace detol

int main(int argc, char** argv) {
  return detol::main_of({argv, static_cast<std::size_t>(argc)});
}
