#include "studies/study_requests.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <system_error>

#include "core/clock.h"
#include "core/log.h"
#include "knowledge/artefacts.h"
#include "scheduler/budget.h"
#include "scheduler/time_limits.h"
#include "studies/open_study.h"

namespace detol::inline studies {
namespace {

namespace fs = std::filesystem;

constexpr double kPatienceS = 30;
constexpr int kLookEveryMs = 100;

// Returns what to do instead where nobody runs the study.
std::string instead(const RunRequest& request, const std::string& study) {
  if (request.kind == RunRequest::kRetry)
    return fmt::format("; `detol resume {} --retry-failed`", study);
  if (request.kind == RunRequest::kBudget)
    return fmt::format("; `detol resume {} --budget {}`", study, request.budget);
  return "";
}

Result<void> check_runner(const std::string& storage, const StudyRecord& study,
                          const RunRequest& request) {
  DETOL_ASSIGN(const auto runner, runner_of(storage, study));
  if (!runner)
    return fail(ErrorCode::kUsage,
                fmt::format("nobody runs study {}{}", study.name, instead(request, study.name)));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.config, study.name));
  if (!config.external || request.kind == RunRequest::kStop) return {};
  return fail(ErrorCode::kUsage, fmt::format("the trials of study {} are evaluated by whoever asks "
                                             "for them; only these can do that",
                                             study.name));
}

Result<void> check_trial(const OpenStudy& study, const RunRequest& request) {
  DETOL_ASSIGN(const TrialSummary trial, trial_numbered(study, request.trial));
  const bool is_trained =
      trial.state == TrialState::kRunning || trial.state == TrialState::kWaiting;
  if (request.kind == RunRequest::kPrune && !is_trained)
    return fail(ErrorCode::kUsage, fmt::format("trial {} is {}; only one that is trained can be "
                                               "pruned",
                                               request.trial, to_text(trial.state)));
  if (request.kind != RunRequest::kRetry) return {};
  if (trial.state != TrialState::kFail)
    return fail(ErrorCode::kUsage,
                fmt::format("trial {} is {}; only one that failed can be retried", request.trial,
                            to_text(trial.state)));
  for (const Cause cause : {Cause::kCrashed, Cause::kTimeout, Cause::kOutOfMemory})
    if (trial.failure == to_text(cause)) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("trial {} failed as {}, and would again; only what crashed, timed out or "
                          "ran out of memory can be retried",
                          request.trial, trial.failure));
}

// Returns the total after a change that adds to it.
Result<std::string> raised(const StudyRecord& study, const std::string& change) {
  DETOL_ASSIGN(const auto more, parse_budget_change(change));
  if (!more || !more->adds)
    return fail(ErrorCode::kUsage, fmt::format("budget '{}': a running search takes what is added "
                                               "to its total: +1cpu-h, +20trials",
                                               change));
  DETOL_ASSIGN(const Budget in_force, budget_in_force(study.budget));
  const auto total = extended(in_force, *more);
  if (total) return to_text(*total);
  return fail(ErrorCode::kUsage,
              fmt::format("budget '{}': the study's budget, '{}', has no such limit to add to",
                          change, study.budget));
}

// Waits until `is_done`, which learns for how long nobody has run the study; 0: somebody does.
// Returns false if it was not within kPatienceS.
Result<bool> wait_until(const std::string& storage, const StudyRecord& study,
                        const std::function<Result<bool>(double quiet_s)>& is_done) {
  Clock& clock = system_clock();
  const double began_s = clock.now_s();
  double seen_s = began_s;  // when a process was last seen to run it
  while (clock.now_s() < began_s + kPatienceS) {
    DETOL_ASSIGN(const auto runner, runner_of(storage, study));
    const double now_s = clock.now_s();
    if (runner) seen_s = now_s;
    DETOL_ASSIGN(const bool is, is_done(runner ? 0 : std::max(now_s - seen_s, 1e-9)));
    if (is) return true;
    ::poll(nullptr, 0, kLookEveryMs);
  }
  return false;
}

// Waits until the file is gone. Errors (kUsage): nobody runs the study any more.
Result<bool> is_answered(const std::string& storage, const StudyRecord& study,
                         const fs::path& file) {
  return wait_until(storage, study, [&](double quiet_s) -> Result<bool> {
    std::error_code error;
    if (!fs::exists(file, error)) return true;
    if (quiet_s <= kRestartS) return false;
    fs::remove(file, error);
    return fail(ErrorCode::kUsage, fmt::format("the search of {} ended first", study.name));
  });
}

// Waits until the run has ended. Between two masters of one run no process holds the lock, but the
// study is still RUNNING.
Result<bool> has_stopped(const std::string& storage, const StudyRecord& study) {
  return wait_until(storage, study, [&](double quiet_s) -> Result<bool> {
    if (quiet_s == 0 || quiet_s > kRestartS) return quiet_s > 0;
    DETOL_ASSIGN(const auto reader, Reader::open(storage));
    DETOL_ASSIGN(const StudyRecord record, reader->study(study.name));
    return record.state != StudyPhase::kRunning;
  });
}

}  // namespace

Result<fs::path> ask_runner(const std::string& storage, const OpenStudy& study,
                            RunRequest request) {
  DETOL_TRY(check_runner(storage, study.record, request));
  if (request.kind == RunRequest::kPrune || request.kind == RunRequest::kRetry)
    DETOL_TRY(check_trial(study, request));
  if (request.kind == RunRequest::kBudget) {
    DETOL_ASSIGN(request.budget, raised(study.record, request.budget));
  }
  return make_request(artefact_folder(storage, study.record.name), request);
}

Result<bool> ask_runner_and_wait(const std::string& storage, const OpenStudy& study,
                                 const RunRequest& request) {
  DETOL_ASSIGN(const fs::path file, ask_runner(storage, study, request));
  DETOL_ASSIGN(const bool is_done, is_answered(storage, study.record, file));
  if (!is_done)
    log_warning("the search has not answered within {} s{}; the request stands", kPatienceS,
                request.kind == RunRequest::kPrune ? ", as before the trial's first report" : "");
  return is_done;
}

Result<void> stop_study(const std::string& storage, const std::string& name) {
  StudyRecord study;
  {
    DETOL_ASSIGN(const auto reader, Reader::open(storage));
    DETOL_ASSIGN(study, reader->study(name));
  }
  DETOL_ASSIGN(const auto runner, runner_of(storage, study));
  if (!runner) {
    log_info("nobody runs study {}", name);
    return {};
  }
  DETOL_ASSIGN(const fs::path request,
               make_request(artefact_folder(storage, name), {RunRequest::kStop}));
  log_info("study {} is run by {}; waiting up to {} s for it to stop", name, to_text(*runner),
           kPatienceS);
  DETOL_ASSIGN(const bool is_done, has_stopped(storage, study));
  if (!is_done) {
    log_warning("study {} still runs after {} s; the request stands", name, kPatienceS);
    return {};
  }
  std::error_code ignored;
  fs::remove(request, ignored);                // if no master has read it
  fs::remove(request.parent_path(), ignored);  // if it is empty
  log_info("study {0} has stopped; resume it with `detol resume {0}`", name);
  return {};
}

}  // namespace detol::inline studies
