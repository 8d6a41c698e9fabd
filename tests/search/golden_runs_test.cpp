#include <fmt/format.h>

#include <string>

#include <gtest/gtest.h>

#include "search/searcher.h"
#include "tests/golden.h"
#include "tests/search/spaces.h"

namespace detol {
namespace {

// Returns the distance of depth from 3 and of momentum from 0.9, plus a term for the optimizer.
double loss_of(const Genome& genome) {
  double loss = genome.text("opt") == "sgd" ? 0.1 : 0.4;
  loss += 0.2 * (3 - genome.number("depth"));
  if (genome.is_active("momentum")) loss += 10 * std::abs(genome.number("momentum") - 0.9);
  return loss;
}

std::string line_of(const Trial& trial, double loss) {
  std::string line = fmt::format("{} loss={:.6g}", trial.id, loss);
  for (const auto& [name, value] : trial.genome.assignments()) {
    const auto* real = std::get_if<double>(&value);
    line += fmt::format(" {}={}", name, real ? fmt::format("{:.6g}", *real) : to_text(value));
  }
  return line + "\n";
}

// Trial 5 of every seven fails; the others are told two trials late, as with three workers.
std::string trace_of(std::string_view name) {
  auto searcher = make_searcher(name, testing_support::conditional_space(),
                                {.seed = 42, .objectives = {minimize("loss")}, .options = {}})
                      .value();
  std::string trace;
  std::vector<Trial> running;
  for (TrialId id = 0; id < 40; ++id) {
    running.push_back(searcher->ask(id, 1).at(0));
    trace += line_of(running.back(), loss_of(running.back().genome));
    if (running.size() < 3) continue;
    const Trial done = running.front();
    running.erase(running.begin());
    if (done.id % 7 == 5) {
      searcher->tell(done, Failed{.cause = Cause::kDiverged});
    } else {
      searcher->tell(done, Measured{.values = {loss_of(done.genome)}});
    }
  }
  return trace;
}

class GoldenRun : public testing::TestWithParam<const char*> {};

TEST_P(GoldenRun, FirstFortyTrialsOfAConditionalSpace) {
  testing_support::expect_golden(std::string(GetParam()) + "_conditional", trace_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenRun,
                         testing::Values("evolution", "genetic", "nsga2", "local", "sobol", "tpe"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace detol
