#include "studies/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"

namespace detol::inline studies {
namespace {

// Returns the objective that is measured: the first, or that of --metric. Another metric than the
// objectives is minimised, as `trials --sort` has it. Errors (kUsage): no trial has that metric.
Result<Objective> measured_objective(const OpenStudy& study, const Rows& trials,
                                     const std::string& metric) {
  if (metric.empty()) return study.record.objectives.front();
  for (const Objective& objective : study.record.objectives) {
    if (objective.metric == metric) return objective;
  }
  const auto* text = std::get_if<std::string>(&cell(trials, 0, "values"));
  const auto values = json_or_discarded(text != nullptr ? *text : "");
  if (!values.is_object()) return fail(ErrorCode::kStorage, "a trial's values are damaged");
  std::vector<std::string> names;
  for (const auto& member : values.items()) names.push_back(member.key());
  if (std::ranges::find(names, metric) != names.end()) return minimize(metric);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fail(ErrorCode::kUsage, "--metric: " + unknown_name("metric", metric, known));
}

}  // namespace

Result<std::vector<ChoiceImportance>> measure_importance(
    const OpenStudy& study, const StudyConfig& config, const std::string& metric,
    std::optional<std::vector<TrialId>> among) {
  DETOL_ASSIGN(const Rows trials, finished_rows(study, std::move(among)));
  DETOL_ASSIGN(const Objective objective, measured_objective(study, trials, metric));
  std::vector<Genome> genomes;
  std::vector<double> losses;
  for (std::size_t i = 0; i < trials.rows.size(); ++i) {
    DETOL_ASSIGN(const double value, metric_of(trials, i, objective.metric));
    if (!std::isfinite(value)) continue;
    DETOL_ASSIGN(Genome genome, genome_of(config, trials, i));
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
