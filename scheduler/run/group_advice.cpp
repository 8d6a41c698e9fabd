#include "scheduler/run/group_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "encodings/study/study_config.h"
#include "knowledge/facts.h"
#include "scheduler/run/group_size.h"

namespace detol::inline scheduler {
namespace {

// Returns the workers that the study's last run started; 0 if that is not known.
Result<int> workers_of_last_run(Reader& reader, const std::string& study) {
  DETOL_ASSIGN(const std::vector<Fact> runs, reader.facts(kRunFact));
  double last_s = 0;
  int workers = 0;
  for (const Fact& fact : runs) {
    const auto run = json_or_discarded(fact.payload);
    if (!run.is_object() || field_or(run, "study", std::string()) != study ||
        field_or(run, "at", 0.0) < last_s)
      continue;
    last_s = field_or(run, "at", 0.0);
    workers = field_or(run, "workers", 0);
  }
  return workers;
}

// Returns "2: 93 % (88 to 97 %, n = 6)" of each size beyond one.
Cell efficiencies(const GroupScaling& scaling, Efficiency (GroupScaling::*of)(int) const) {
  std::vector<std::string> words;
  for (const auto& [size, trials] : scaling.sizes()) {
    if (size == 1) continue;
    const Efficiency one = (scaling.*of)(size);
    words.push_back(fmt::format("{}: {:.0f} % ({:.0f} to {:.0f} %, n = {})", size, 100 * one.mean,
                                100 * one.low, 100 * one.high, trials));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string sizes_text(const std::map<int, int>& sizes) {
  std::string words;
  for (const auto& [size, trials] : sizes)
    words += (words.empty() ? "" : " ") + std::to_string(size);
  return words;
}

}  // namespace

Result<GroupAdvice> group_advice(Reader& reader, const StudyRecord& study,
                                 std::span<const Event> events) {
  const GroupTimes measured = group_times_of(events);
  if (measured.times.empty()) return GroupAdvice();
  const GroupScaling scaling(measured.times);
  GroupAdvice advice{.sizes = sizes_text(scaling.sizes())};
  if (!scaling.has_compared()) return advice;
  advice.strong = efficiencies(scaling, &GroupScaling::strong_efficiency);
  advice.weak = efficiencies(scaling, &GroupScaling::weak_efficiency);
  DETOL_ASSIGN(const int workers, workers_of_last_run(reader, study.name));
  const auto config = load_study_config(study.config, study.name);
  if (workers == 0 || !config) return advice;
  const int devices = workers * measured.last_ranks;
  DETOL_ASSIGN(const Budget budget, budget_in_force(study.budget));
  DETOL_ASSIGN(RemainingSearch left, remaining_search(*config, events, budget, devices));
  left.epoch_work = measured.epoch_work;
  if (left.wall_s > 0 && left.trials > 0)
    advice.advised = std::int64_t{best_group_size(scaling, left)};
  return advice;
}

}  // namespace detol::inline scheduler
