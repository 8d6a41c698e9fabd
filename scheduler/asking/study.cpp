#include "scheduler/asking/study.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/log.h"
#include "core/table.h"
#include "core/usable.h"
#include "scheduler/asking/simulated_time.h"
#include "scheduler/asking/space_text.h"
#include "scheduler/asking/study_service.h"
#include "scheduler/best_trial.h"

namespace detol::inline scheduler {
namespace {

// Makes a call and waits for its answer.
template <typename T, typename Call>
Result<T> answer_of(StudyService& service, const Call& call) {
  const auto promise = std::make_shared<std::promise<Result<T>>>();
  auto answer = promise->get_future();
  call([promise](Result<T> value) { promise->set_value(std::move(value)); });
  service.look();
  return answer.get();
}

}  // namespace

struct Study::Parts {
  std::unique_ptr<SimulatedTime> time;  // null: it is real
  std::unique_ptr<StudyService> service;
  std::string caller = this_caller();

  std::mutex mutex;  // of these three
  std::optional<Error> error;
  std::string why;                    // optimize() has ended
  std::string last_failure;           // of a function; empty: none has failed
  std::atomic<bool> is_over = false;  // the threads of optimize() take no more trials
  std::atomic<std::size_t> evaluated = 0;

  Callers& callers() { return service->callers(); }
  Result<void> check_own(const AskedTrial& trial) const;
  Result<std::vector<Metric>> metrics(const Values& values) const;
  void fail_with(const Error& failure);
  Told::Failure failed(TrialId trial, std::string reason);
  Result<AskAnswer> ask(Ask request);
  Result<void> tell(Told told);
};

// Refuses a trial of another study: the one of that number here is another candidate.
Result<void> Study::Parts::check_own(const AskedTrial& trial) const {
  const std::string& own = service->config().study;
  if (trial.study.empty() || trial.study == own) return {};
  return fail(ErrorCode::kUsage, fmt::format("trial {} is of study {}, and this is {}", trial.trial,
                                             trial.study, own));
}

Result<std::vector<Metric>> Study::Parts::metrics(const Values& values) const {
  const std::vector<Objective>& objectives = service->config().objectives;
  if (values.numbers.size() != objectives.size())
    return fail(ErrorCode::kUsage, fmt::format("{} values for {} objectives", values.numbers.size(),
                                               objectives.size()));
  std::vector<Metric> metrics;
  for (std::size_t i = 0; i < objectives.size(); ++i)
    metrics.push_back({objectives[i].metric, values.numbers[i]});
  return metrics;
}

void Study::Parts::fail_with(const Error& failure) {
  const std::lock_guard lock(mutex);
  if (!error) error = failure;
  is_over = true;
}

// Says that a function failed its trial: else nobody sees why until all are done.
Told::Failure Study::Parts::failed(TrialId trial, std::string reason) {
  log_warning("trial {} failed: {}", trial, reason);
  const std::lock_guard lock(mutex);
  last_failure = reason;
  return {Cause::kCrashed, std::move(reason)};
}

Result<AskAnswer> Study::Parts::ask(Ask request) {
  request.caller = caller;
  return answer_of<AskAnswer>(
      *service, [&](auto answer) { callers().ask(std::move(request), std::move(answer)); });
}

Study::Study(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Study::Study(Study&&) noexcept = default;
Study::~Study() = default;

Result<std::vector<AskedTrial>> Study::ask(int count) {
  if (count < 1)
    return fail(ErrorCode::kUsage, fmt::format("{} trials cannot be asked for", count));
  DETOL_ASSIGN(AskAnswer got, parts_->ask({.count = count}));
  if (got.trials.empty() && !got.none.empty()) return fail(ErrorCode::kEmpty, got.none);
  return std::move(got.trials);
}

Result<AskedTrial> Study::ask_for(const std::vector<std::pair<std::string, Value>>& candidate) {
  DETOL_ASSIGN(Genome genome, parts_->service->config().space.genome(candidate));
  DETOL_ASSIGN(AskAnswer got, parts_->ask({.wish = std::move(genome)}));
  if (got.trials.empty()) return fail(ErrorCode::kEmpty, got.none);
  return std::move(got.trials.front());
}

Result<bool> Study::report(const AskedTrial& trial, int step, const Values& values) {
  DETOL_TRY(parts_->check_own(trial));
  if (step < 0) return fail(ErrorCode::kUsage, fmt::format("step {} is below 0", step));
  DETOL_ASSIGN(auto metrics, parts_->metrics(values));
  return answer_of<bool>(*parts_->service, [&](auto answer) {
    parts_->callers().report({.trial = trial.trial,
                              .attempt = trial.attempt,
                              .step = step,
                              .metrics = std::move(metrics)},
                             std::move(answer));
  });
}

Result<void> Study::Parts::tell(Told told) {
  const TrialId trial = told.trial;
  DETOL_ASSIGN(const TellAnswer answered, answer_of<TellAnswer>(*service, [&](auto answer) {
                 callers().tell(std::move(told), std::move(answer));
               }));
  if (answered.is_ignored)
    log_warning("trial {} ended {} before: what is told of it now changes nothing", trial,
                to_text(answered.state));
  return {};
}

Result<void> Study::tell(const AskedTrial& trial, const Values& values) {
  DETOL_TRY(parts_->check_own(trial));
  DETOL_ASSIGN(auto metrics, parts_->metrics(values));
  return parts_->tell({trial.trial, trial.attempt, std::move(metrics)});
}

Result<void> Study::tell_failed(const AskedTrial& trial, const std::string& reason) {
  DETOL_TRY(parts_->check_own(trial));
  return parts_->tell({trial.trial, trial.attempt, Told::Failure{Cause::kCrashed, reason}});
}

Result<std::optional<BestTrial>> Study::best() {
  return answer_of<std::optional<BestTrial>>(*parts_->service, [&](auto answer) {
    parts_->callers().with_state([answer = std::move(answer), &config = parts_->service->config()](
                                     const Result<const StudyState*>& at) {
      if (!at) return answer(tl::unexpected(at.error()));
      const TrialRecord* best = best_trial(**at, config);
      if (best == nullptr) return answer(std::optional<BestTrial>());
      answer(BestTrial{best->trial.id, best->trial.genome, best->values});
    });
  });
}

const std::string& Study::name() const {
  return parts_->service->config().study;
}

Result<std::string> Study::close() {
  return parts_->service->close();
}

// Evaluates trials until there are none. The value of a trial needs no answer: it is durable with
// the next ask of this thread.
void Study::evaluate(int thread, const Function& function) {
  while (!parts_->is_over) {
    auto got = parts_->ask({.waits = parts_->time == nullptr});
    if (!got) return parts_->fail_with(got.error());
    if (got->trials.empty() && got->none.empty()) {  // in simulated time: the others go on
      parts_->time->wait(thread);
      continue;
    }
    if (got->trials.empty()) {
      const std::lock_guard lock(parts_->mutex);
      parts_->why = got->none;
      return;
    }
    TrialContext context(*this, thread, std::move(got->trials.front()));
    Told told{context.trial_.trial, context.trial_.attempt, {}};
    try {
      auto metrics = parts_->metrics(function(context));
      if (!metrics) return parts_->fail_with(metrics.error());
      told.outcome = *std::move(metrics);
    } catch (const std::exception& error) {
      told.outcome = parts_->failed(told.trial, error.what());
    } catch (...) {
      told.outcome = parts_->failed(told.trial, "it threw what is not a std::exception");
    }
    ++parts_->evaluated;
    parts_->callers().tell(std::move(told), [this](const Result<TellAnswer>& answered) {
      if (!answered) parts_->fail_with(answered.error());
    });
    if (parts_->time) parts_->time->wake();
  }
}

Result<std::string> Study::optimize(const Function& function, const OptimizeOptions& options) {
  parts_->is_over = false;
  const int count = options.threads > 0 ? options.threads : usable_cores().count;
  std::vector<std::thread> threads;
  if (parts_->time) parts_->time->expect(count);
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([this, i, &function, time = parts_->time.get()] {
      if (time != nullptr) time->start(i);
      evaluate(i, function);
      if (time != nullptr) time->end(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::lock_guard lock(parts_->mutex);
  if (parts_->error) return tl::unexpected(*std::exchange(parts_->error, std::nullopt));
  return parts_->why;
}

std::int64_t TrialContext::integer(std::string_view name) const {
  const double value = number(name);
  const auto whole = static_cast<std::int64_t>(std::isfinite(value) ? value : 0);
  if (static_cast<double>(whole) == value) return whole;
  throw std::invalid_argument(
      fmt::format("parameter {} is {}, which is not a whole number", in_quotes(name), value));
}

bool TrialContext::report(int step, const Values& values) {
  if (should_stop_) return true;
  const Result<bool> ended = study_.report(trial_, step, values);
  if (!ended) study_.parts_->fail_with(ended.error());
  return should_stop_ = ended.value_or(true);
}

void TrialContext::spend(double seconds) {
  if (study_.parts_->time) study_.parts_->time->spend(thread_, seconds);
}

std::filesystem::path TrialContext::checkpoint() const {
  const std::filesystem::path folder = trial_.folder;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder / "checkpoint";
}

Result<Study> open_study(const Space& space, const StudyOptions& options) {
  DETOL_ASSIGN(const StudyConfig config, external_config(space, options));
  DETOL_ASSIGN(const auto budget, parse_budget_change(options.budget));
  auto parts = std::make_unique<Study::Parts>();
  if (options.simulates_time) parts->time = std::make_unique<SimulatedTime>();
  DETOL_ASSIGN(parts->service, StudyService::open(config, {.storage = options.storage,
                                                           .budget = budget,
                                                           .retry_failed = options.retry_failed,
                                                           .clock = parts->time.get()}));
  const std::size_t ended = parts->service->ended_before();
  if (ended > 0) log_info("study {} goes on: {} trials of earlier runs count", options.name, ended);
  return Study(std::move(parts));
}

Result<BestTrial> optimize(const Space& space, const Function& function,
                           const StudyOptions& options, const OptimizeOptions& how) {
  DETOL_ASSIGN(Study study, open_study(space, options));
  DETOL_TRY(study.optimize(function, how));
  DETOL_ASSIGN(const auto best, study.best());
  DETOL_TRY(study.close());
  if (study.parts_->evaluated == 0)
    log_info("study {} was complete: nothing was evaluated; a larger budget goes on with it",
             study.name());
  if (best) return *best;
  const std::string& why = study.parts_->last_failure;
  return fail(ErrorCode::kEmpty,
              "no trial has a value" + (why.empty() ? "" : "; the last failed: " + why));
}

}  // namespace detol::inline scheduler
