#pragma once

// Opening a study for writing: its name, its budget, its record and its searcher. A master does
// this, and whoever asks and tells without one.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "scheduler/budget.h"
#include "search/searcher.h"

namespace detol::inline scheduler {

enum class IfExists { kFail, kResume, kNew };  // kNew appends -2, -3, ... to the name

struct StudyRequest {
  const StudyConfig& config;
  std::filesystem::path storage;       // for messages
  std::optional<BudgetChange> budget;  // of a study that is there; of a new one its total
  IfExists if_exists = IfExists::kFail;
  bool resume = false;  // the study must exist
};

struct ResolvedStudy {
  std::string study;
  std::string budget;       // in force
  std::string config = {};  // the text from now on, with a wider space; empty: as before
};

// Decides which study is meant and which budget is in force. Errors: kStudy if the study exists, or
// is missing, against the request; kInput if the space file has other changes than a study takes;
// kUsage for the budget; kStorage.
Result<ResolvedStudy> resolve_study(Ledger& ledger, const StudyRequest& request);

// Decides the same of a study that exists, unless the request is for a new name. Errors as above.
Result<ResolvedStudy> resolve_existing(const StudyRecord& record, const StudyRequest& request);

// Opens the study for writing, or creates it. Errors: kInput if it was begun on other data, and as
// Ledger::open_study and Ledger::create_study.
Result<StudyRecord> open_or_create(Ledger& ledger, const StudyConfig& config,
                                   const ResolvedStudy& resolved, std::uint64_t data_fingerprint);

// SearcherInputs: what a study's searcher gets beside its space file.
struct SearcherInputs {
  std::vector<Source> sources = {};
  decltype(SearcherSettings::preserves) preserves = nullptr;
};

// Returns the searcher that a study names, without any trial.
Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config, SearcherInputs inputs);

}  // namespace detol::inline scheduler
