#pragma once

// Study: a search in this process, for a function or for a loop of your own. Everything is in a
// database file, so that the same call resumes a study that was stopped or killed.
//
//   Space space = SpaceBuilder().add_float("lr", 1e-4, 1e-1, {.log = true}).build().value();
//   auto best = optimize(space, [](TrialContext& trial) { return f(trial.number("lr")); },
//                        {.name = "mine", .budget = "100trials"});
//
// A trial is evaluated by a thread of optimize(), or by whoever asked for it. docs/library.md has
// whole programs.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "scheduler/asking/asked_trial.h"
#include "scheduler/asking/study_options.h"

namespace detol::inline scheduler {

// Values: one number per objective, in their order.
struct Values {
  Values(double value) : numbers{value} {}  // NOLINT(google-explicit-constructor)
  Values(std::initializer_list<double> values) : numbers(values) {}
  Values(std::vector<double> values) : numbers(std::move(values)) {}  // NOLINT
  std::vector<double> numbers;
};

// BestTrial: the best so far by the first objective; where the study measures candidates again
// (search.repeats) by a model of all values, as `detol best` has it.
struct BestTrial {
  TrialId trial = 0;
  Genome genome;
  std::vector<double> values;  // one per objective
};

class Study;

// TrialContext: a trial as the function of optimize() sees it. Used by the function's thread alone.
class TrialContext {
 public:
  // The trial's choices. An unknown name, or one of another type, throws std::invalid_argument,
  // which fails the trial with that sentence. Of a choice that is not active number() is NaN, and
  // the others throw.
  double number(std::string_view name) const { return trial_.genome.number(name); }
  std::int64_t integer(std::string_view name) const;  // of whole numbers
  std::string text(std::string_view name) const { return trial_.genome.text(name); }
  bool flag(std::string_view name) const { return trial_.genome.flag(name); }
  bool is_active(std::string_view name) const { return trial_.genome.is_active(name); }
  const Genome& genome() const { return trial_.genome; }

  TrialId id() const { return trial_.trial; }
  std::uint64_t seed() const { return trial_.seed; }
  int steps_done() const { return static_cast<int>(trial_.epochs); }  // in earlier attempts

  // Reports the values after a step, which rises from 1, or from 0. They are durable when this
  // returns. Returns should_stop().
  bool report(int step, const Values& values);

  // True once the trial is to end: the pruner stopped it, it has all its steps, or the study ends.
  // What the function returns then does not count.
  bool should_stop() const { return should_stop_; }

  // In simulated time: the work so far took so many more seconds, in which other threads work. Else
  // it does nothing.
  void spend(double seconds);

  // Returns where a checkpoint of the trial may lie: a path in a folder of the trial's own, which
  // this makes, the same in every attempt.
  std::filesystem::path checkpoint() const;

 private:
  friend class Study;
  TrialContext(Study& study, int thread, AskedTrial trial)
      : study_(study), thread_(thread), trial_(std::move(trial)) {}

  Study& study_;
  const int thread_;
  const AskedTrial trial_;
  bool should_stop_ = false;
};

// Returns what a candidate is worth. An exception, or a value that is not finite, fails the trial,
// which is said on stderr.
using Function = std::function<Values(TrialContext&)>;

struct OptimizeOptions {
  int threads = 0;  // that call the function at a time; 0: one per core
};

// Thread-safe but for close() and moves.
class Study {
 public:
  Study(Study&&) noexcept;
  Study& operator=(Study&&) = delete;
  ~Study();  // close()

  // Returns up to `count` trials to evaluate: those that an earlier run left first. Fewer: the
  // searcher needs outcomes of these first. Durable when it returns. Errors: kEmpty once the budget
  // is used up, with the reason; kUsage if `count` is below 1; kStorage.
  Result<std::vector<AskedTrial>> ask(int count = 1);

  // Returns a trial of this candidate.
  Result<AskedTrial> ask_for(const std::vector<std::pair<std::string, Value>>& candidate);

  // Records the values after a step, which rises from 1, or from 0; returns whether the trial has
  // ended thereby. Durable when it returns. Errors: kUsage if the trial is not the caller's or
  // another study's, or the step is below 0; kStorage, also if the database was deleted.
  Result<bool> report(const AskedTrial& trial, int step, const Values& values);

  // Records what a trial is worth, or that it failed. Durable when it returns; nothing changes
  // about a trial that has ended, and a warning on stderr says so if it ended otherwise. Errors: as
  // report().
  Result<void> tell(const AskedTrial& trial, const Values& values);
  Result<void> tell_failed(const AskedTrial& trial, const std::string& reason);

  // Evaluates trials by the function, on threads, until the budget is used up. Returns the sentence
  // that says why it ended. Errors: kUsage if the study has no budget; kFailures; kStorage.
  Result<std::string> optimize(const Function& function, const OptimizeOptions& options = {});

  // Returns the best trial; nullopt if none has reported a number.
  Result<std::optional<BestTrial>> best();

  const std::string& name() const;

  // Closes the study: trials that are not told are asked for again in the next run. Returns a
  // sentence that says where it stands.
  Result<std::string> close();

 private:
  friend class TrialContext;
  friend Result<Study> open_study(const Space& space, const StudyOptions& options);
  friend Result<BestTrial> optimize(const Space& space, const Function& function,
                                    const StudyOptions& options, const OptimizeOptions& how);
  struct Parts;
  explicit Study(std::unique_ptr<Parts> parts);
  void evaluate(int thread, const Function& function);

  std::unique_ptr<Parts> parts_;
};

// Opens the study of that name, or begins it. Of a process, one study of a database is open at a
// time. Errors: kUsage, kInput: an option, or the study was begun with another space; kStorage.
Result<Study> open_study(const Space& space, const StudyOptions& options);

// Opens the study, evaluates the function until the budget is used up and closes it. Returns the
// best trial. Errors: as open_study() and Study::optimize(); kEmpty: no trial has a value, with the
// reason of the last that failed.
Result<BestTrial> optimize(const Space& space, const Function& function,
                           const StudyOptions& options, const OptimizeOptions& how = {});

}  // namespace detol::inline scheduler
