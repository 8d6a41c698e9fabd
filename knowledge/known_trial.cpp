#include <algorithm>
#include <map>

#include "encodings/study/study_config.h"
#include "knowledge/rows_impl.h"

namespace detol::inline knowledge {
namespace {

struct Place {
  StudyId study;
  TrialId trial;
  std::string name;  // of the study
};

Result<std::vector<Place>> places_of(sqlite3* database, const std::string& identity,
                                     StudyId except) {
  DETOL_ASSIGN(auto rows,
               sqlite::Statement::prepare(
                   database,
                   "SELECT e.study, e.trial, s.name FROM events e INDEXED BY events_by_identity "
                   "JOIN studies s ON s.id = e.study WHERE e.kind = 'asked' AND "
                   "e.payload->>'identity' = ?1 AND e.study <> ?2 ORDER BY e.study, e.trial"));
  rows.bind(1, std::string_view(identity));
  rows.bind(2, except);
  std::vector<Place> places;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return places;
    if (!is_study_name(rows.text(2))) continue;  // it becomes the name of a folder
    places.push_back(
        {rows.integer(0), static_cast<TrialId>(rows.integer(1)), std::string(rows.text(2))});
  }
}

// A trial that a pruner or a budget ended was not measured to its end; a crash may have been the
// machine's fault; and a trial that was answered itself is not the one to name.
bool can_answer(const event::Told& told) {
  if (told.reason.cause == EndCause::kSameTrial) return false;
  if (const auto cause = cause_of(told.outcome)) return cause == Cause::kDiverged;
  return told.state == TrialState::kComplete && told.reason.cause == EndCause::kFullLength;
}

// Returns whether groups of other sizes than `ranks` have trained the trial.
bool is_of_other_ranks(const std::vector<Event>& events, std::optional<int> ranks) {
  return ranks && std::ranges::any_of(events, [&](const Event& event) {
           const auto* started = std::get_if<event::Started>(&event);
           return started != nullptr && started->group_size != *ranks;
         });
}

// Returns the trial if its last event is an outcome that can answer.
std::optional<KnownTrial> known_from(const Place& place, const std::vector<Event>& events) {
  const auto* told = events.empty() ? nullptr : std::get_if<event::Told>(&events.back());
  if (told == nullptr || !can_answer(*told)) return std::nullopt;
  KnownTrial known{.study = place.name, .trial = place.trial, .reports = {}, .told = *told};
  std::map<double, event::Reported> by_epochs;  // that of the last attempt counts
  for (const Event& event : events) {
    if (const auto* reported = std::get_if<event::Reported>(&event))
      by_epochs.insert_or_assign(reported->epochs(), *reported);
  }
  for (auto& [epochs, reported] : by_epochs) known.reports.push_back(std::move(reported));
  return known;
}

}  // namespace

Result<std::optional<KnownTrial>> find_known_trial(sqlite3* database, const std::string& identity,
                                                   StudyId except, std::optional<int> ranks) {
  DETOL_ASSIGN(const auto places, places_of(database, identity, except));
  for (const Place& place : places) {
    DETOL_ASSIGN(const auto events, read_trial(database, place.study, place.trial));
    if (is_of_other_ranks(events, ranks)) continue;
    if (auto known = known_from(place, events)) return known;
  }
  return std::optional<KnownTrial>();
}

}  // namespace detol::inline knowledge
