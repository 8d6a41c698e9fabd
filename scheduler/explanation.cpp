#include "scheduler/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "scheduler/study_opening.h"
#include "scheduler/study_state.h"
#include "scheduler/warm_start.h"

namespace detol::inline scheduler {
namespace {

struct Proposed {
  std::size_t place;  // of its Asked, among the events
  const event::Asked* asked;
};

std::optional<Proposed> find_asked(std::span<const Event> events, TrialId trial) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto* asked = std::get_if<event::Asked>(&events[i]);
    if (asked != nullptr && asked->trial == trial) return Proposed{i, asked};
  }
  return std::nullopt;
}

// Returns how many of the events came before the outcomes that the searcher did not know yet.
std::size_t known_to_searcher(std::span<const Event> events, int behind) {
  std::size_t known = events.size();
  for (int left = behind; left > 0 && known > 0;)
    left -= std::holds_alternative<event::Told>(events[--known]) ? 1 : 0;
  return known;
}

}  // namespace

Result<WhyProposed> why_proposed(const StudyConfig& config, std::span<const Event> events,
                                 TrialId trial) {
  const std::optional<Proposed> proposed = find_asked(events, trial);
  if (!proposed) return fail(ErrorCode::kEmpty, fmt::format("trial {} was never asked", trial));
  DETOL_ASSIGN(std::vector<Source> sources, sources_of(events));
  DETOL_ASSIGN(const auto searcher, searcher_of(config, {.sources = std::move(sources)}));
  const std::span<const Event> before = events.first(proposed->place);
  const std::size_t known = known_to_searcher(before, proposed->asked->behind);
  StudyState state(config.space, config.objectives, config.metric_constraints);
  std::set<TrialId> pending;
  WhyProposed why{.proposer = proposed->asked->proposer};
  for (std::size_t i = 0; i <= before.size(); ++i) {
    const Event& event = events[i];
    DETOL_TRY(state.apply(event));
    if (i == before.size()) break;
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      searcher->expect(state.find(asked->trial)->trial);
      pending.insert(asked->trial);
    }
    if (i >= known) continue;
    if (const auto* told = std::get_if<event::Told>(&event)) {
      if (!state.teaches(*told)) continue;
      const TrialRecord& record = *state.find(told->trial);
      searcher->tell(record.trial, *record.outcome);
      pending.erase(told->trial);
      ++why.told;
    }
    if (const auto* refit = std::get_if<event::Refit>(&event))
      searcher->absorb({refit->model, refit->version, refit->observations, refit->parameters});
  }
  why.pending = static_cast<int>(pending.size());
  why.explanation = searcher->explain(state.find(trial)->trial);
  return why;
}

}  // namespace detol::inline scheduler
