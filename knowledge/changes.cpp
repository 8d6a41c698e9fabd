#include "knowledge/changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace detol::inline knowledge {
namespace {

constexpr const char* kProgressOfStudies = R"sql(
SELECT s.id, s.name, p.state, p.trials, p.last_seq,
  CASE p.best_is_known WHEN 1 THEN p.best END, s.objectives
FROM studies s JOIN progress p ON p.study = s.id ORDER BY s.id DESC)sql";

constexpr std::string_view kAttempts = R"sql(
SELECT trial, max(payload->>'worker') AS worker, max(payload->>'at') AS started,
  total(payload->>'device_s') + total(payload->>'unreported_s') AS seconds,
  max(payload->>'$.work[#-1]') AS work
FROM events INDEXED BY events_by_trial
WHERE study = ?1 AND trial IN ({}) AND kind IN ('started', 'reported', 'requeued')
GROUP BY trial, attempt ORDER BY trial, attempt)sql";

// Events of the whole study have the trial -1.
constexpr const char* kStates = R"sql(
SELECT payload->>'state', coalesce(payload->>'at', 0.0)
FROM events INDEXED BY events_by_trial
WHERE study = ?1 AND trial = -1 AND kind = 'state' ORDER BY seq)sql";

std::int64_t whole_in(const Cell& cell) {
  const auto* whole = std::get_if<std::int64_t>(&cell);
  return whole != nullptr ? *whole : 0;
}

std::string text_in(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? *text : std::string();
}

}  // namespace

Result<std::vector<StudyProgress>> progress_of_studies(Reader& reader) {
  DETOL_ASSIGN(const Rows rows, reader.select(kProgressOfStudies));
  std::vector<StudyProgress> studies;
  for (const auto& row : rows.rows) {
    StudyProgress study{.id = whole_in(row[0]),
                        .name = text_in(row[1]),
                        .state = study_phase_from(text_in(row[2])).value_or(StudyPhase::kRunning),
                        .trials = whole_in(row[3]),
                        .last = whole_in(row[4]),
                        .objectives_json = text_in(row[6])};
    if (!std::holds_alternative<std::monostate>(row[5])) study.best = cell_number(row[5], 0);
    studies.push_back(std::move(study));
  }
  return studies;
}

Result<std::vector<TrialId>> changed_trials(Reader& reader, StudyId study, std::int64_t last) {
  DETOL_ASSIGN(const Rows rows, reader.select("SELECT DISTINCT trial FROM events WHERE study = ?1 "
                                              "AND seq > ?2 AND trial >= 0 ORDER BY trial",
                                              {study, last}));
  std::vector<TrialId> trials;
  for (const auto& row : rows.rows) trials.push_back(static_cast<TrialId>(whole_in(row[0])));
  return trials;
}

Result<Rows> attempts_of(Reader& reader, StudyId study, std::span<const TrialId> trials) {
  return reader.select(fmt::format(kAttempts, fmt::join(trials, ",")), {study});
}

Result<std::vector<Event>> state_events(Reader& reader, StudyId study) {
  DETOL_ASSIGN(const Rows states, reader.select(kStates, {study}));
  DETOL_ASSIGN(
      const Rows spent,
      reader.select("SELECT wall_seconds, device_seconds FROM progress WHERE study = ?1", {study}));
  std::vector<Event> events;
  for (const auto& row : states.rows)
    events.emplace_back(
        event::StudyState{.state = study_phase_from(text_in(row[0])).value_or(StudyPhase::kRunning),
                          .budget = {},
                          .at_s = cell_number(row[1], 0)});
  for (const auto& row : spent.rows)
    events.emplace_back(event::Accounted{cell_number(row[0], 0), cell_number(row[1], 0)});
  return events;
}

}  // namespace detol::inline knowledge
