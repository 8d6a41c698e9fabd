#include "cli/commands.h"
#include "core/log.h"
#include "printing/trial_table.h"
#include "search/recommendation.h"
#include "studies/best_trial.h"
#include "studies/final_choice.h"
#include "studies/model_rows.h"
#include "studies/recommended_trials.h"
#include "studies/trial_columns.h"
#include "studies/trial_rows.h"

namespace detol::inline cli {
namespace {

Result<Rows> best_rows(const OpenStudy& study, std::int64_t count) {
  DETOL_ASSIGN(
      Rows rows,
      trial_rows(study,
                 {.sort = "value", .top = count, .only_scored = true, .only_feasible = true}));
  if (rows.rows.empty()) return no_best_trial(study);
  return rows;
}

// Returns the rows of the ranking, with its numbers.
Result<Rows> ranked_rows(const OpenStudy& study, const std::vector<RecommendedTrial>& ranking) {
  std::vector<TrialSummary> trials;
  std::vector<Cell> means, deviations;
  for (const RecommendedTrial& one : ranking) {
    trials.push_back(one.trial);
    means.emplace_back(one.mean);
    deviations.emplace_back(one.deviation);
  }
  DETOL_ASSIGN(Rows rows, rows_of(study, trials));
  insert_column("posterior_deviation", "values", std::move(deviations), rows);
  insert_column("posterior_mean", "values", std::move(means), rows);
  return rows;
}

// Returns the best trials by the measured value, or by what a model expects of them.
Result<Rows> chosen_rows(const OpenStudy& study, std::optional<std::int64_t> top,
                         bool is_by_model) {
  if (is_by_model) {
    DETOL_ASSIGN(auto ranked, recommended_trials(study));
    if (ranked) {
      const auto count = static_cast<std::size_t>(top.value_or(1));
      if (ranked->size() > count)
        ranked->erase(ranked->begin() + static_cast<std::ptrdiff_t>(count), ranked->end());
      return ranked_rows(study, *ranked);
    }
    log_warning(
        "fewer than {} trials have been measured at full length: the best is that of the best "
        "measured value",
        kLeastTrialsToRecommend);
  }
  if (top) return best_rows(study, *top);
  DETOL_ASSIGN(TrialSummary best, best_observed(study));
  return rows_of(study, {std::move(best)});
}

Result<int> run_best(const Arguments& arguments) {
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  const std::string rule = arguments.text("by");
  bool is_by_model = rule == "posterior";
  if (rule.empty()) {
    DETOL_ASSIGN(is_by_model, is_best_by_posterior(study));
  }
  DETOL_ASSIGN(Rows rows, chosen_rows(study, top, is_by_model));
  const bool chooses_columns =
      arguments.globals.format == Format::kTable && arguments.globals.columns.empty();
  DETOL_TRY(add_architecture(study, rows));
  DETOL_TRY(add_test_scores(study, rows));
  DETOL_TRY(add_cross_validation(study, rows));
  if (!top) {
    DETOL_TRY(add_labels(study, arguments.globals.format, rows));
    if (chooses_columns) rows = without_empty_columns(rows);
    return show_record(rows, arguments.globals);
  }
  if (chooses_columns)
    rows = trial_table_of(
        rows, {"trial", "state", "epochs", "values", "posterior_mean", "posterior_deviation",
               "cross_validation", "test", "params", "network_params", "flops"});
  return show(rows, arguments.globals);
}

std::string best_notes() {
  return "Where measurements are noisy, the best measured value is mostly a lucky one. `--by\n"
         "posterior` fits a Gaussian process to the trials that were trained to their end, and\n"
         "ranks them by its mean: what is expected of a trial without its noise. posterior_mean\n"
         "and posterior_deviation are in the objective's units; the latter is what the model\n"
         "leaves open. It is the rule where a study measures candidates again (search.repeats)\n"
         "and made no final choice. All other commands take `best` for the trial that this one\n"
         "shows without --by; `--trial ID` names another.";
}

}  // namespace

Command best_command() {
  return {.name = "best",
          .summary = "show the best trial of a study, or the best N",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--top", "N",
                       "the best N, as a list; default: the best, with all that is known of it"},
                      one_of("--by", "RULE",
                             "observed: the best measured value, or the final choice; posterior: "
                             "the best by a model of all values; default: observed, with "
                             "search.repeats posterior where there is no final choice",
                             {"observed", "posterior"})},
          .examples =
              "  detol best fashion-cnn\n"
              "  detol best fashion-cnn --top 5 -f json\n"
              "  detol best fashion-cnn --by posterior",
          .run = run_best,
          .notes = best_notes};
}

}  // namespace detol::inline cli
