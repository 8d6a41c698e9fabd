// Asks and tells one searcher on one problem, without a driver or a ledger, for several seeds:
//
//   search_loop ALGORITHM PROBLEM FIRST_SEED SEEDS EVALUATIONS PENDING NOISE
//
// ALGORITHM is a name, or NAME:OPTION=VALUE;OPTION=VALUE with options; problems.h has the problems.
// PENDING trials run at a time and end in the order of their asks. NOISE is the standard deviation
// of a normal error of each value. A seed is one line: the algorithm, problem and seed, then after
// 25, 50, 100, ... and all evaluations "EVALUATIONS:VALUE", the value of the best trial so far and
// also after each improvement, under noise the value without it of the trial that recommend() ranks
// first.
//
//   search_loop --values PROBLEM SEED
//
// prints the number of the problem's parameters and its noise, 0, reads lines of so many numbers in
// [0, 1] and prints the value at each.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <deque>

#include "core/rng.h"
#include "experiments/search_quality/problems.h"
#include "experiments/search_quality/words.h"
#include "search/recommendation.h"
#include "search/searcher.h"

namespace detol {
namespace {

struct Run {
  std::string algorithm, problem;
  std::uint64_t first_seed = 0, seeds = 0;
  int evaluations = 0, pending = 0;
  double noise = 0;
};

// What was measured, and which trial a user would take.
class Measurements {
 public:
  explicit Measurements(const Space& space) : space_(space) {}

  // Returns true if the trial is the best so far.
  bool add(const Trial& trial, double measured, double exact) {
    const bool is_best = exact_.empty() || measured < measured_[best_].value;
    if (is_best) best_ = exact_.size();
    measured_.push_back({trial.id, trial.genome, measured});
    exact_.push_back(exact);
    return is_best;
  }

  double best() const { return exact_[best_]; }  // the value without noise

  double recommended() const {
    const TrialId id = recommend(space_, Direction::kMinimize, measured_).front().id;
    const auto found = std::ranges::find(measured_, id, &MeasuredTrial::id);
    return exact_[static_cast<std::size_t>(found - measured_.begin())];
  }

 private:
  const Space& space_;
  std::vector<MeasuredTrial> measured_;
  std::vector<double> exact_;
  std::size_t best_ = 0;
};

bool is_point(int evaluations) {
  return evaluations % 25 == 0 && std::has_single_bit(static_cast<unsigned>(evaluations / 25));
}

Result<void> search(const Run& run, std::uint64_t seed) {
  DETOL_ASSIGN(const Problem problem, make_problem(run.problem, seed));
  const Named algorithm = named(run.algorithm);
  DETOL_ASSIGN(const auto searcher, make_searcher(algorithm.name, problem.space,
                                                  {.seed = seed,
                                                   .objectives = {minimize("value")},
                                                   .options = algorithm.options}));
  Rng errors = Rng(seed).split(99);
  std::deque<Trial> pending;
  TrialId next = 0;
  Measurements measurements(problem.space);
  std::string line = fmt::format("{} {} {}", run.algorithm, run.problem, seed);
  for (int count = 1; count <= run.evaluations; ++count) {
    for (Trial& trial : searcher->ask(next, run.pending - static_cast<int>(pending.size()))) {
      ++next;
      pending.push_back(std::move(trial));
    }
    if (pending.empty()) break;
    const Trial trial = std::move(pending.front());
    pending.pop_front();
    const double exact = problem.value(trial.genome);
    const double measured = run.noise > 0 ? exact + run.noise * errors.normal() : exact;
    searcher->tell(trial, Measured{.values = {measured}});
    const bool is_best = measurements.add(trial, measured, exact);
    if (is_point(count) || count == run.evaluations || (is_best && run.noise == 0))
      line += fmt::format(" {}:{:.6g}", count,
                          run.noise > 0 ? measurements.recommended() : measurements.best());
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
  return {};
}

Result<void> search_all(const Run& run) {
  for (std::uint64_t i = 0; i < run.seeds; ++i) DETOL_TRY(search(run, run.first_seed + i));
  return {};
}

Result<void> print_values_of(const std::string& name, std::uint64_t seed) {
  DETOL_ASSIGN(const Problem problem, make_problem(name, seed));
  print_values(problem.space, 0, problem.value);
  return {};
}

bool is_number(const char* word) {
  return '0' <= *word && *word <= '9';
}

int finish(const Result<void>& done) {
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}

int main_of(std::span<char*> words) {
  if (words.size() == 4 && std::string_view(words[1]) == "--values" && is_number(words[3]))
    return finish(print_values_of(words[2], std::stoull(words[3])));
  if (words.size() != 8 || !std::ranges::all_of(words.subspan(3), is_number)) {
    fmt::print(stderr,
               "usage: {} ALGORITHM PROBLEM FIRST_SEED SEEDS EVALUATIONS PENDING NOISE\n"
               "       {} --values PROBLEM SEED\n",
               words[0], words[0]);
    return 2;
  }
  return finish(search_all({.algorithm = words[1],
                            .problem = words[2],
                            .first_seed = std::stoull(words[3]),
                            .seeds = std::stoull(words[4]),
                            .evaluations = std::stoi(words[5]),
                            .pending = std::stoi(words[6]),
                            .noise = std::stod(words[7])}));
}

}  // namespace
}  // namespace detol

int main(int argc, char** argv) {
  return detol::main_of({argv, static_cast<std::size_t>(argc)});
}
