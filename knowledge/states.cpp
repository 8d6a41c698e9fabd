#include "knowledge/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace detol::inline knowledge {
namespace {

constexpr std::array<std::string_view, 3> kStudyPhases = {"RUNNING", "DONE", "STOPPED"};

constexpr std::array<std::string_view, 7> kModelKinds = {
    "trial", "retrained", "pruned", "quantised", "ensembled", "distilled", "cross_validated"};
constexpr std::array<std::string_view, 3> kModelStates = {"TRAINING", "COMPLETE", "FAIL"};

// Returns the member of an enumeration by its word; `words` are in its order.
template <typename Enum>
std::optional<Enum> member_of(std::span<const std::string_view> words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

struct EndWord {
  EndCause cause;
  std::string_view word;
};

// The causes that have a fixed text; all of them stop a trial early.
constexpr EndWord kEndWords[] = {{EndCause::kBudget, "budget"},
                                 {EndCause::kDuration, "max_trial_duration"},
                                 {EndCause::kTarget, "target"},
                                 {EndCause::kFailures, "failures"},
                                 {EndCause::kRequest, "on request"}};

constexpr std::string_view kSameTrial = "same as trial ";
constexpr std::string_view kOfStudy = " of study ";

std::optional<EndReason> same_trial_from(std::string_view text) {
  if (!text.starts_with(kSameTrial)) return std::nullopt;
  text.remove_prefix(kSameTrial.size());
  EndReason reason{EndCause::kSameTrial};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), reason.same_as);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return reason;
  if (!text.starts_with(kOfStudy) || text.size() == kOfStudy.size()) return std::nullopt;
  reason.detail = text.substr(kOfStudy.size());
  return reason;
}

EndReason pruned_from(std::string_view text) {
  for (const EndWord& row : kEndWords) {
    if (row.word == text) return {row.cause};
  }
  return {EndCause::kPruner, std::string(text)};
}

struct RequeueWord {
  RequeueCause cause;
  std::string_view text;
  bool has_detail;  // the detail follows the text
};

constexpr RequeueWord kRequeueWords[] = {
    {RequeueCause::kCrashed, "crashed: ", true},
    {RequeueCause::kOutOfMemory, "out of memory: ", true},
    {RequeueCause::kDisk, "the disk: ", true},
    {RequeueCause::kStopped, "stopped", false},
    {RequeueCause::kPromoted, "promoted", false},
    {RequeueCause::kWorkerGone, "its worker is gone", false},
    {RequeueCause::kBudgetExtended, "the budget was extended", false},
    {RequeueCause::kRetried, "retried on request", false}};

}  // namespace

std::string_view to_text(StudyPhase phase) {
  return kStudyPhases[static_cast<std::size_t>(phase)];
}

std::optional<StudyPhase> study_phase_from(std::string_view text) {
  return member_of<StudyPhase>(kStudyPhases, text);
}

std::string_view to_text(TrialState state) {
  return kTrialStates[static_cast<std::size_t>(state)];
}

std::optional<TrialState> trial_state_from(std::string_view text) {
  return member_of<TrialState>(kTrialStates, text);
}

std::string_view to_text(ModelKind kind) {
  return kModelKinds[static_cast<std::size_t>(kind)];
}

std::optional<ModelKind> model_kind_from(std::string_view text) {
  return member_of<ModelKind>(kModelKinds, text);
}

std::string_view to_text(ModelState state) {
  return kModelStates[static_cast<std::size_t>(state)];
}

std::optional<ModelState> model_state_from(std::string_view text) {
  return member_of<ModelState>(kModelStates, text);
}

std::string to_text(const EndReason& reason) {
  if (reason.cause == EndCause::kSameTrial) {
    return fmt::format("{}{}{}{}", kSameTrial, reason.same_as,
                       reason.detail.empty() ? std::string_view() : kOfStudy, reason.detail);
  }
  for (const EndWord& row : kEndWords) {
    if (row.cause == reason.cause) return std::string(row.word);
  }
  return reason.detail;
}

std::optional<EndReason> end_reason_from(TrialState state, std::string_view text) {
  if (state < TrialState::kComplete) return std::nullopt;
  if (auto same = same_trial_from(text)) return same;
  if (state == TrialState::kFail) return EndReason{EndCause::kFailure, std::string(text)};
  if (state == TrialState::kPruned && !text.empty()) return pruned_from(text);
  if (text.empty()) return EndReason{};
  return std::nullopt;
}

std::string to_text(const RequeueReason& reason) {
  for (const RequeueWord& row : kRequeueWords) {
    if (row.cause == reason.cause) return std::string(row.text) + reason.detail;
  }
  return reason.detail;
}

RequeueReason requeue_reason_from(std::string_view text) {
  for (const RequeueWord& row : kRequeueWords) {
    if (!row.has_detail && text == row.text) return {row.cause};
    if (row.has_detail && text.starts_with(row.text))
      return {row.cause, std::string(text.substr(row.text.size()))};
  }
  return {RequeueCause::kLost, std::string(text)};
}

}  // namespace detol::inline knowledge
