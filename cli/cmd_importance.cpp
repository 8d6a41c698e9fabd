#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trial_rows.h"
#include "core/table.h"
#include "surrogate/importance.h"
namespace detol::inline cli {
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
  const auto values = nlohmann::json::parse(text != nullptr ? *text : "", nullptr, false);
  if (!values.is_object()) return fail(ErrorCode::kStorage, "a trial's values are damaged");
  std::vector<std::string> names;
  for (const auto& member : values.items()) names.push_back(member.key());
  if (std::ranges::find(names, metric) != names.end()) return minimize(metric);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fail(ErrorCode::kUsage, "--metric: " + unknown_name("metric", metric, known));
}

Result<std::vector<ChoiceImportance>> measure(const OpenStudy& study, const StudyConfig& config,
                                              const std::string& metric) {
  DETOL_ASSIGN(const Rows trials, finished_rows(study));
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

Cell number_or_nothing(double number) {
  return std::isnan(number) ? Cell() : Cell(number);
}

Result<int> run_importance(const Arguments& arguments) {
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  DETOL_ASSIGN(const OpenStudy study,
               open_study(arguments.globals.storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  DETOL_ASSIGN(const auto choices, measure(study, config, arguments.text("metric")));
  Rows rows{.columns = {"name", "importance", "low", "high", "trials"}, .rows = {}};
  for (const ChoiceImportance& choice : choices) {
    if (top && static_cast<std::int64_t>(rows.rows.size()) == *top) break;
    rows.rows.push_back({config.space.domains()[choice.domain].name,
                         number_or_nothing(choice.value), number_or_nothing(choice.low),
                         number_or_nothing(choice.high), static_cast<std::int64_t>(choice.trials)});
  }
  if (choices.empty())
    return fail(ErrorCode::kEmpty, fmt::format("study {} has no choices", study.record.name));
  DETOL_TRY(print_data(render(rows, arguments.globals)));
  return 0;
}

std::string importance_notes() {
  return "The importance of a choice is the share that it alone explains, from 0 to 1, of which\n"
         "finished trials are among the best quarter (PED-ANOVA); low and high are its 95 %\n"
         "bootstrap interval. A choice that exists under a condition is measured among the trials\n"
         "that have it, and weighted by their share; one that fewer than ten have is not "
         "measured.\n"
         "What choices do together counts for none of them, so the column need not add up to 1.";
}

}  // namespace

Command importance_command() {
  return {.name = "importance",
          .summary = "show how much each choice matters for the objective",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--metric", "NAME",
                       "for another metric; smaller is better unless it is an "
                       "objective"},
                      {"--top", "N", "only the N most important"}},
          .examples =
              "  detol importance fashion-cnn\n"
              "  detol importance fashion-cnn --metric val_loss --top 5 -f csv",
          .run = run_importance,
          .notes = importance_notes};
}

}  // namespace detol::inline cli
