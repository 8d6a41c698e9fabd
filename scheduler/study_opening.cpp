#include "scheduler/study_opening.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "encodings/study/study_changes.h"

namespace detol::inline scheduler {
namespace {

// Returns the study that a run is to resume, if it is there.
Result<std::optional<StudyRecord>> find_study(Ledger& ledger, const std::string& name) {
  auto record = ledger.study(name);
  if (record) return std::optional(std::move(*record));
  if (record.error().code == ErrorCode::kStudy) return std::optional<StudyRecord>();
  return tl::unexpected(record.error());
}

Result<std::string> free_name(Ledger& ledger, const std::string& name) {
  for (int number = 2;; ++number) {
    const std::string numbered = fmt::format("{}-{}", name, number);
    DETOL_ASSIGN(const auto taken, find_study(ledger, numbered));
    if (!taken) return numbered;
  }
}

}  // namespace

Result<ResolvedStudy> resolve_existing(const StudyRecord& record, const StudyRequest& request) {
  const std::string& name = record.name;
  if (!request.resume && request.if_exists == IfExists::kFail) {
    return fail(ErrorCode::kStudy,
                fmt::format("study '{}' exists in {}; resume it with `detol resume {}`, or choose "
                            "another --study, or --if-exists new",
                            name, request.storage.string(), name));
  }
  DETOL_ASSIGN(const StudyConfig config, for_begun_study(request.config, record.config));
  DETOL_ASSIGN(const auto changes, changes_of_study(record.config, config.text));
  const std::string text = changes.empty() ? "" : config.text;
  for (const KeyChange& change : changes) log_info("study {}: {}", name, to_text(change));
  if (!request.budget) return ResolvedStudy{name, record.budget, text};
  DETOL_ASSIGN(const Budget in_force, budget_in_force(record.budget));
  DETOL_ASSIGN(const Budget budget, extended(in_force, *request.budget));
  return ResolvedStudy{name, to_text(budget), text};
}

Result<ResolvedStudy> resolve_study(Ledger& ledger, const StudyRequest& request) {
  const std::string& name = request.config.study;
  const bool may_add = request.resume || request.if_exists == IfExists::kResume;
  DETOL_ASSIGN(const auto record, find_study(ledger, name));
  if (request.resume && !record) DETOL_TRY(ledger.study(name));  // its error has the did-you-mean
  if (record && (may_add || request.if_exists == IfExists::kFail))
    return resolve_existing(*record, request);
  DETOL_ASSIGN(Budget fresh, budget_in_force(request.config.budget));
  if (request.budget) fresh = request.budget->limits;
  if (!record) return ResolvedStudy{name, to_text(fresh)};
  DETOL_ASSIGN(std::string numbered, free_name(ledger, name));
  return ResolvedStudy{std::move(numbered), to_text(fresh)};
}

Result<StudyRecord> open_or_create(Ledger& ledger, const StudyConfig& config,
                                   const ResolvedStudy& resolved, std::uint64_t data_fingerprint) {
  DETOL_ASSIGN(auto record, find_study(ledger, resolved.study));
  if (record && record->data_fingerprint != data_fingerprint) {
    return fail(ErrorCode::kInput,
                fmt::format("study '{}' was begun on other data than is now in {}; give it the "
                            "same files, or begin a new study",
                            resolved.study, config.data_path()));
  }
  if (record) return ledger.open_study(resolved.study);
  DETOL_ASSIGN(const StudyConfig recorded, for_new_study(config));
  StudyRecord fresh{.name = resolved.study,
                    .config = recorded.text,
                    .budget = resolved.budget,
                    .data_fingerprint = data_fingerprint,
                    .objectives = config.objectives,
                    .created_s = system_clock().wall_s()};
  DETOL_ASSIGN(fresh.id, ledger.create_study(fresh));
  return fresh;
}

Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config, SearcherInputs inputs) {
  return make_searcher(config.algorithm.name, config.space,
                       {.seed = config.seed,
                        .objectives = config.objectives,
                        .options = config.algorithm.options,
                        .sources = std::move(inputs.sources),
                        .constraints = config.metric_constraints.size(),
                        .preserves = std::move(inputs.preserves)});
}

}  // namespace detol::inline scheduler
