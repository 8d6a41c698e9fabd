#include <fmt/format.h>

#include <cmath>

#include "cli/commands.h"
#include "studies/importance.h"
namespace detol::inline cli {
namespace {

Cell number_or_nothing(double number) {
  return std::isnan(number) ? Cell() : Cell(number);
}

Result<int> run_importance(const Arguments& arguments) {
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  DETOL_ASSIGN(const auto choices, measure_importance(study, config, arguments.text("metric")));
  Rows rows{.columns = {"name", "importance", "low", "high", "trials"}, .rows = {}};
  for (const ChoiceImportance& choice : choices) {
    if (top && static_cast<std::int64_t>(rows.rows.size()) == *top) break;
    rows.rows.push_back({config.space.domains()[choice.domain].name,
                         number_or_nothing(choice.value), number_or_nothing(choice.low),
                         number_or_nothing(choice.high), static_cast<std::int64_t>(choice.trials)});
  }
  if (choices.empty())
    return fail(ErrorCode::kEmpty, fmt::format("study {} has no choices", study.record.name));
  return show(rows, arguments.globals);
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
                       "for another metric; of unknown direction smaller is better; "
                       "default: the first objective"},
                      {"--top", "N", "only the N most important; default: all"}},
          .examples =
              "  detol importance fashion-cnn\n"
              "  detol importance fashion-cnn --metric val_loss --top 5 -f csv",
          .run = run_importance,
          .notes = importance_notes};
}

}  // namespace detol::inline cli
