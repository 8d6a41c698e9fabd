#include "studies/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/table.h"
#include "encodings/network/task.h"

namespace detol::inline studies {
namespace {

// Returns the objective that is measured: the first, or that of --metric. Another metric than the
// objectives has the direction of `trials --sort`. Errors (kUsage): no trial has that metric.
Result<Objective> measured_objective(const OpenStudy& study,
                                     const std::vector<TrialSummary>& trials,
                                     const std::string& metric) {
  if (metric.empty()) return study.record.objectives.front();
  for (const Objective& objective : study.record.objectives) {
    if (objective.metric == metric) return objective;
  }
  std::set<std::string> names;
  for (const TrialSummary& one : trials) {
    for (const auto& [name, value] : one.metrics) names.insert(name);
  }
  if (names.contains(metric))
    return is_better_if_larger(metric) ? maximize(metric) : minimize(metric);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fail(ErrorCode::kUsage, "--metric: " + unknown_name("metric", metric, known));
}

}  // namespace

Result<std::vector<ChoiceImportance>> measure_importance(
    const OpenStudy& study, const StudyConfig& config, const std::string& metric,
    std::optional<std::vector<TrialId>> among) {
  DETOL_ASSIGN(const auto trials, finished_trials(study, std::move(among)));
  DETOL_ASSIGN(const Objective objective, measured_objective(study, trials, metric));
  std::vector<Genome> genomes;
  std::vector<double> losses;
  for (const TrialSummary& one : trials) {
    const double value = metric_of(one, objective.metric);
    if (!std::isfinite(value)) continue;
    DETOL_ASSIGN(Genome genome, genome_of(config, one));
    genomes.push_back(std::move(genome));
    losses.push_back(to_loss(objective.direction, value));
  }
  if (losses.size() >= kLeastTrialsForImportance)
    return importance_of(config.space, genomes, losses);
  return fail(ErrorCode::kEmpty,
              fmt::format("study {} has {} finished trials with a {}; importance needs {}: give it "
                          "more budget (detol resume {} --budget +...)",
                          study.record.name, losses.size(), objective.metric,
                          kLeastTrialsForImportance, study.record.name));
}

}  // namespace detol::inline studies
