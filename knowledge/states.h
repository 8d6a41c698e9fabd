#pragma once

// The states of studies and trials, and the reasons why a trial ended or was requeued. Code decides
// on these types. Databases store their texts, which to_text() writes; study_phase_from() and
// similar functions read them.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "encodings/space/trial.h"

namespace detol::inline knowledge {

enum class StudyPhase { kRunning, kDone, kStopped };

std::string_view to_text(StudyPhase phase);  // RUNNING, DONE, STOPPED
std::optional<StudyPhase> study_phase_from(std::string_view text);

enum class TrialState { kWaiting, kRunning, kComplete, kPruned, kFail };

// The texts of TrialState, in its order.
inline constexpr std::array<std::string_view, 5> kTrialStates = {"WAITING", "RUNNING", "COMPLETE",
                                                                 "PRUNED", "FAIL"};

std::string_view to_text(TrialState state);
std::optional<TrialState> trial_state_from(std::string_view text);

// ModelKind: how a model was made (event::Model).
enum class ModelKind {
  kTestedTrial,  // it is a trial, whose test score is known
  kRetrained,
  kPruned,
  kQuantized,
  kEnsembled,
  kDistilled,
  kCrossValidated,  // the scores of a trial over folds; it has no network of its own
};

std::string_view to_text(ModelKind kind);  // trial, retrained, pruned, quantised, ensembled, ...
std::optional<ModelKind> model_kind_from(std::string_view text);

enum class ModelState { kTraining, kComplete, kFailed };

std::string_view to_text(ModelState state);  // TRAINING, COMPLETE, FAIL
std::optional<ModelState> model_state_from(std::string_view text);

// EndCause: what ended a trial.
enum class EndCause {
  kFullLength,  // it was trained to its last epoch
  kPruner,      // detail: the pruner's name
  kBudget,      // the study's budget; extending it resumes the trial
  kDuration,    // resources.max_trial_duration
  kTarget,      // the study reached its target
  kFailures,    // the study ended because too many trials failed
  kRequest,     // a person asked for it
  kSameTrial,   // it took the outcome of `same_as`, the same candidate; detail: of which study,
                // empty for its own
  kFailure,     // detail: what happened
};

struct EndReason {
  EndReason(EndCause why = EndCause::kFullLength, std::string says = {}, TrialId same = 0)
      : cause(why), detail(std::move(says)), same_as(same) {}

  EndCause cause;
  std::string detail;
  TrialId same_as;

  bool operator==(const EndReason&) const = default;
};

std::string to_text(const EndReason& reason);  // "asha", "budget", "same as trial 3", ...

// Returns the reason of a trial that ended in this state; nullopt if no such trial has this text.
std::optional<EndReason> end_reason_from(TrialState state, std::string_view text);

// RequeueCause: why a trial is WAITING again.
enum class RequeueCause {
  kLost,            // not the trial's fault; detail: what happened to its worker
  kCrashed,         // the trial may be the cause; detail: how
  kOutOfMemory,     // the system's OOM killer ended it; detail: how
  kDisk,            // a write to the disk failed; detail: which, and when the trial is resumed
  kStopped,         // the run was stopped
  kPromoted,        // the pruner resumes the paused trial
  kWorkerGone,      // the worker ended while there was no master
  kBudgetExtended,  // the budget had ended the trial
  kRetried,         // a person asked for it
};

struct RequeueReason {
  RequeueReason(RequeueCause why = RequeueCause::kLost, std::string says = {})
      : cause(why), detail(std::move(says)) {}

  RequeueCause cause;
  std::string detail;

  bool operator==(const RequeueReason&) const = default;
};

std::string to_text(const RequeueReason& reason);  // "crashed: signal 11", "promoted", ...

// Accepts any text: one that no other cause writes is the detail of kLost.
RequeueReason requeue_reason_from(std::string_view text);

}  // namespace detol::inline knowledge
