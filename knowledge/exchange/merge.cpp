#include "knowledge/exchange/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "core/durable_file.h"
#include "core/log.h"
#include "knowledge/artefacts.h"
#include "knowledge/ledger.h"
#include "knowledge/query.h"
#include "knowledge/reports.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/studies.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

// Returns the events without the accounting, which is last and no part of the order.
std::span<const Event> ordered(const std::vector<Event>& events) {
  const bool is_accounted =
      !events.empty() && std::holds_alternative<event::Accounted>(events.back());
  return std::span(events).first(events.size() - (is_accounted ? 1 : 0));
}

// Returns what a merge of `theirs` does to `ours`; kAdded if neither is a prefix of the other.
MergeResult relate(const std::vector<Event>& ours, const std::vector<Event>& theirs,
                   std::span<const Objective> objectives) {
  const auto our = ordered(ours), their = ordered(theirs);
  for (std::size_t i = 0; i < std::min(our.size(), their.size()); ++i) {
    if (single_row(our[i], objectives) != single_row(their[i], objectives))
      return MergeResult::kAdded;
  }
  if (our.size() == their.size()) return MergeResult::kSame;
  return our.size() < their.size() ? MergeResult::kExtended : MergeResult::kOlder;
}

// Returns "fashion" for "fashion-2" and for itself.
std::string_view stem_of(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end > 0 && end + 1 < name.size();
  return has_number && name[end] == '-' ? name.substr(0, end) : name;
}

bool is_same_study(const StudyRecord& a, const StudyRecord& b) {
  return a.created_s == b.created_s && a.first_config() == b.first_config() &&
         (a.name == b.name || stem_of(a.name) == stem_of(b.name));
}

// Adds the files of a study's folder that `to` lacks, and counts them. Those that are being written
// there are left out.
Result<std::int64_t> add_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return 0;
  std::int64_t files = 0;
  fs::create_directories(to, error);
  for (fs::recursive_directory_iterator at(from, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path target = to / at->path().lexically_relative(from);
    if (at->is_directory(error)) {
      fs::create_directories(target, error);
    } else if (at->is_regular_file(error) && !is_of_a_run(at->path()) &&
               !finished_name(at->path().filename().string()) && !fs::exists(target, error)) {
      ++files;
      std::error_code unlinked;
      if (at->path().extension() == ".ckpt") fs::create_hard_link(at->path(), target, unlinked);
      if (at->path().extension() == ".ckpt" && !unlinked) continue;
      DETOL_TRY(copy_into_place(at->path(), target));
    }
    if (error) break;  // the loop's increment would clear it
  }
  if (!error) return files;
  return fail(ErrorCode::kStorage, fmt::format("{} cannot be copied to {}: {}", from.string(),
                                               to.string(), error.message()));
}

class Merger {
 public:
  Merger(fs::path base, fs::path other, Ledger& ledger, Reader& theirs,
         std::vector<StudyRecord> known)
      : base_(std::move(base)),
        other_(std::move(other)),
        ledger_(ledger),
        theirs_(theirs),
        known_(std::move(known)) {}

  Result<MergedStudy> add(const StudyRecord& record) {
    DETOL_ASSIGN(const auto events, theirs_.events(record.id));
    MergedStudy merged{.study = record.name, .as = record.name, .result = MergeResult::kAdded};
    merged.trials = std::ranges::count_if(
        events, [](const Event& event) { return std::holds_alternative<event::Asked>(event); });
    for (const StudyRecord& ours : known_) {
      if (!is_same_study(ours, record)) continue;
      DETOL_ASSIGN(const auto mine, ledger_.events(ours.id));
      merged.result = relate(mine, events, record.objectives);
      merged.as = ours.name;
      if (merged.result == MergeResult::kExtended) DETOL_TRY(extend(ours, mine, events));
      if (merged.result != MergeResult::kAdded) break;
    }
    if (merged.result == MergeResult::kAdded) {
      DETOL_ASSIGN(merged.as, create(record, events));
    }
    if (merged.result != MergeResult::kOlder) {
      DETOL_ASSIGN(merged.files, follow(merged));
    }
    return merged;
  }

 private:
  // Appends what `mine` lacks. The append of nothing locks the study.
  Result<void> extend(const StudyRecord& ours, const std::vector<Event>& mine,
                      const std::vector<Event>& events) {
    DETOL_TRY(ledger_.append(ours.id, {}));
    DETOL_ASSIGN(const auto now, ledger_.events(ours.id));
    if (relate(mine, now, ours.objectives) != MergeResult::kSame) {
      return fail(ErrorCode::kStorage,
                  fmt::format("{}: a study grew meanwhile; merge again once its search has ended",
                              base_.string()));
    }
    return ledger_.append(ours.id, std::span(events).subspan(ordered(mine).size()));
  }

  Result<std::string> create(const StudyRecord& record, const std::vector<Event>& events) {
    const auto is_taken = [&](const std::string& name) {
      std::error_code ignored;
      return fs::exists(artefact_folder(base_, name), ignored) ||
             std::ranges::find(known_, name, &StudyRecord::name) != known_.end();
    };
    StudyRecord fresh = record;
    for (int number = 2; is_taken(fresh.name); ++number)
      fresh.name = fmt::format("{}-{}", stem_of(record.name), number);
    fresh.state = StudyPhase::kRunning;  // its events say what follows
    DETOL_ASSIGN(fresh.id, ledger_.create_study(fresh));
    DETOL_TRY(ledger_.append(fresh.id, events));
    known_.push_back(fresh);
    return fresh.name;
  }

  // Adds the artefacts. Without them the history is complete, but nothing can be exported.
  Result<std::int64_t> follow(const MergedStudy& merged) {
    const auto from = find_artefacts(other_, merged.study);
    if (from) return add_files(*from, artefact_folder(base_, merged.as));
    log_warning("the files of study {} stay where they are: {}", merged.study,
                from.error().message);
    return 0;
  }

  fs::path base_, other_;
  Ledger& ledger_;
  Reader& theirs_;
  std::vector<StudyRecord> known_;  // the base's
};

Result<std::vector<StudyRecord>> studies_of(const fs::path& database) {
  DETOL_ASSIGN(const auto reader, Reader::open(database));
  return reader->studies();
}

}  // namespace

std::string_view to_text(MergeResult result) {
  constexpr std::string_view kWords[] = {"added", "extended", "same", "older"};
  return kWords[static_cast<std::size_t>(result)];
}

Result<std::vector<MergedStudy>> merge(const fs::path& base, const fs::path& other) {
  std::error_code ignored;
  if (fs::equivalent(base, other, ignored))
    return fail(ErrorCode::kUsage, fmt::format("{} cannot be merged with itself", other.string()));
  DETOL_ASSIGN(const auto theirs, Reader::open(other));
  DETOL_ASSIGN(const auto records, theirs->studies());
  if (!fs::exists(base, ignored)) DETOL_TRY(Ledger::open(base));  // creates it
  DETOL_ASSIGN(auto known, studies_of(base));
  DETOL_ASSIGN(const auto ledger, Ledger::open(base));
  Merger merger(base, other, *ledger, *theirs, std::move(known));
  std::vector<MergedStudy> merged;
  DETOL_ASSIGN(const auto facts, theirs->facts(""));
  DETOL_TRY(ledger->record_facts(facts));
  for (const StudyRecord& record : records) {
    DETOL_ASSIGN(MergedStudy one, merger.add(record));
    merged.push_back(std::move(one));
  }
  return merged;
}

}  // namespace detol::inline knowledge
