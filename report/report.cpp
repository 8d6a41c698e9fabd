#include "report/report.h"

#include "report/panels.h"

namespace detol::inline report {

Json model_with(const ReportSource& source, const Trials& trials, const Trials& some) {
  Json objectives = Json::array();
  for (const Objective& objective : source.study.objectives)
    objectives.push_back(
        {{"metric", objective.metric}, {"direction", to_text(objective.direction)}});
  return {{"study", source.study.name},
          {"objectives", objectives},
          {"made_s", source.now_s},
          {"count", trials.size()},
          {"card", study_card(source, trials)},
          {"found", what_was_found(source, trials)},
          {"lacks", what_it_lacks(source, trials)},
          {"history", history(source, trials)},
          {"pareto", pareto_front(source, trials)},
          {"parameters", parameters(source, some)},
          {"importance", importances(source)},
          {"curves", learning_curves(source, trials)},
          {"workers", workers(source, trials)},
          {"budget", budget_left(source, trials)},
          {"credit", credit(source, trials)},
          {"networks", networks(source, trials)},
          {"landscapes", landscapes(source)},
          {"trials", trial_columns(source, some)}};
}

nlohmann::ordered_json model_of(const ReportSource& source) {
  const Trials trials = shown_trials(source);
  return model_with(source, trials, trials);
}

}  // namespace detol::inline report
