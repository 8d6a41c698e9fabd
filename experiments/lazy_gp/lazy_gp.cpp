// Runs one method on one task for several seeds, in rounds: asks for BATCH trials, measures all of
// them, and tells all results.
//
//   lazy_gp SPACE_FILE DATA METHOD FIRST_SEED SEEDS EVALUATIONS STARTUP BATCH TARGET
//
// DATA is the table, or "-" if there is none. METHOD is classical, lazy or lagN (the paper's), or
// any of detol's searchers; STARTUP is the number of its initial points, 0 for its own default. A
// search ends when its objective reaches TARGET. stdout is a CSV of two kinds of lines: one
// whenever the best value improves and at the end, and one per hundred evaluations with the seconds
// of processor time that tells and asks took since the last such line:
//
//   best,METHOD,SEED,EVALUATIONS,VALUE
//   time,METHOD,SEED,EVALUATIONS,TELL_S,ASK_S

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <string>

#include "encodings/study/study_config.h"
#include "experiments/lazy_gp/paper_method.h"
#include "search/searcher.h"
#include "trainer/evaluator.h"

namespace detol {
namespace {

struct Run {
  std::string method;
  int evaluations = 0, startup = 0, batch = 1;
  double target = 0;
};

double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Returns the whole or real number at the beginning of a word; 0 if there is none.
template <typename Number>
Number number(std::string_view word) {
  Number value{};
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

std::optional<int> lag_of(std::string_view method) {
  if (method == "lazy") return 0;
  if (method == "classical") return 1;
  if (method.starts_with("lag")) return number<int>(method.substr(3));
  return std::nullopt;
}

Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config, const Run& run) {
  if (const auto lag = lag_of(run.method)) {
    return make_paper_method(config.space,
                             {.seed = config.seed, .startup = run.startup, .lag = *lag});
  }
  SearcherSettings settings{.seed = config.seed, .objectives = config.objectives, .options = {}};
  if (run.startup > 0) settings.options["startup"] = std::to_string(run.startup);
  return make_searcher(run.method, config.space, settings);
}

// Returns the value that the evaluator reports for the first objective, the only one here.
Result<double> measure(const StudyConfig& config, Evaluator& evaluator, const Trial& trial) {
  Job job;
  job.trial = trial.id;
  job.genome = trial.genome;
  Control control;
  double value = 0;
  const auto note = [&](const EpochReport& report, bool) {
    for (const Metric& metric : report.metrics) {
      if (metric.name == config.objectives.front().metric) value = metric.value;
    }
    return Verdict::kStop;
  };
  DETOL_TRY(evaluator.evaluate(job, note, control));
  return value;
}

// Search runs one search, and prints lines while it runs.
class Search {
 public:
  Search(const StudyConfig& config, const Run& run, Evaluator& evaluator)
      : config_(config), run_(run), evaluator_(evaluator) {}

  Result<void> operator()() {
    DETOL_ASSIGN(const auto searcher, searcher_of(config_, run_));
    while (done_ < run_.evaluations && !is_reached()) DETOL_TRY(round(*searcher));
    print_best();
    return {};
  }

 private:
  bool is_reached() const {
    return done_ > 0 && !is_better(config_.objectives.front().direction, run_.target, best_);
  }

  Result<void> round(Searcher& searcher) {
    const double asked_s = processor_s();
    const auto trials =
        searcher.ask(static_cast<TrialId>(done_), std::min(run_.batch, run_.evaluations - done_));
    ask_s_ += processor_s() - asked_s;
    if (trials.empty()) return fail(ErrorCode::kInput, run_.method + " proposes nothing");
    std::vector<double> values;
    for (const Trial& trial : trials) {
      DETOL_ASSIGN(const double value, measure(config_, evaluator_, trial));
      values.push_back(value);
      note(values.back());
    }
    const double told_s = processor_s();
    for (std::size_t i = 0; i < trials.size(); ++i)
      searcher.tell(trials[i], Measured{.values = {values[i]}});
    tell_s_ += processor_s() - told_s;
    if (done_ / 100 > timed_) print_time();
    return {};
  }

  void note(double value) {
    ++done_;
    if (done_ > 1 && !is_better(config_.objectives.front().direction, value, best_)) return;
    best_ = value;
    print_best();
  }

  void print_best() const {
    fmt::print("best,{},{},{},{:.9g}\n", run_.method, config_.seed, done_, best_);
  }

  void print_time() {
    fmt::print("time,{},{},{},{:.4f},{:.4f}\n", run_.method, config_.seed, done_, tell_s_, ask_s_);
    timed_ = done_ / 100;
    tell_s_ = ask_s_ = 0;
  }

  const StudyConfig& config_;
  const Run& run_;
  Evaluator& evaluator_;
  int done_ = 0, timed_ = 0;
  double best_ = 0, tell_s_ = 0, ask_s_ = 0;
};

Result<void> search_all(std::span<char*> words) {
  DETOL_ASSIGN(StudyConfig config, read_study_config(words[1]));
  if (config.table) config.table->path = words[2];
  const Run run{.method = words[3],
                .evaluations = number<int>(words[6]),
                .startup = number<int>(words[7]),
                .batch = number<int>(words[8]),
                .target = number<double>(words[9])};
  DETOL_ASSIGN(const auto evaluator, make_evaluator(config, {}));
  for (int i = 0; i < number<int>(words[5]); ++i) {
    config.seed = static_cast<std::uint64_t>(number<int>(words[4]) + i);
    DETOL_TRY(Search(config, run, *evaluator)());
  }
  return {};
}

int main_of(std::span<char*> words) {
  if (words.size() != 10) {
    fmt::print(
        stderr,
        "usage: {} SPACE_FILE DATA METHOD FIRST_SEED SEEDS EVALUATIONS STARTUP BATCH TARGET\n",
        words[0]);
    return 2;
  }
  const auto done = search_all(words);
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}

}  // namespace
}  // namespace detol

int main(int argc, char** argv) {
  return detol::main_of({argv, static_cast<std::size_t>(argc)});
}
