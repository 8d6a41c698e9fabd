#include "cli/commands.h"
#include "cli/model_training.h"
#include "models/model_network.h"
#include "models/retraining.h"
#include "models/test_score.h"
#include "models/thresholds.h"
#include "studies/best_trial.h"
#include "studies/trial_columns.h"

namespace detol::inline cli {
namespace {

// Returns the metrics of validation as JSON.
std::string validation_of(const Rows& trials) {
  const auto* text = std::get_if<std::string>(&cell(trials, 0, "values"));
  return text != nullptr ? *text : "{}";
}

void add_row(const event::Model& model, std::string values, Rows& scores) {
  scores.rows.push_back({static_cast<std::int64_t>(model.trial), model.model, model.epochs,
                         std::move(values), test_json(model), interval_json(model)});
}

// Adds what was measured when the model was made.
Result<void> add_model(const OpenStudy& study, const std::string& number, Rows& scores) {
  DETOL_ASSIGN(const event::Model model, model_called(study, number));
  DETOL_TRY(check_is_complete(study, model));
  add_row(model, values_json(model), scores);
  return {};
}

// Measures networks whose decisions are made by another threshold; records nothing.
Result<Rows> scores_at(const OpenStudy& study, const ThresholdRequest& request,
                       const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  const std::string backend = inference_backend(storage, study.record.name);
  Rows scores{.columns = {"trial", "model", "epochs", "threshold", "test", "test_interval"},
              .rows = {}};
  const auto add = [&](const TrainedNetwork& network, std::int64_t model,
                       const std::string& trained_on) -> Result<void> {
    DETOL_ASSIGN(const ThresholdScore score,
                 score_at(request, network, shared, trained_on, backend));
    scores.rows.push_back({static_cast<std::int64_t>(network.trial), model, network.best_epoch,
                           score.threshold, test_json(score.measured),
                           interval_json(score.measured)});
    return {};
  };
  if (arguments.has("model")) {
    DETOL_ASSIGN(const event::Model model, model_called(study, arguments.text("model")));
    DETOL_ASSIGN(const TrainedNetwork network, network_of(study, shared, storage, model));
    DETOL_TRY(add(network, model.model, model.trained_on));
    return scores;
  }
  DETOL_ASSIGN(const auto trials, trials_called(study, arguments.text("trial", "best")));
  for (const TrialSummary& trial : trials) {
    DETOL_ASSIGN(const TrainedNetwork network, trained_network(study, shared, storage, trial));
    DETOL_TRY(add(network, 0, kOnTraining));
  }
  return scores;
}

Result<Rows> recorded_scores(const OpenStudy& study, const Arguments& arguments) {
  Rows scores{.columns = {"trial", "model", "epochs", "values", "test", "test_interval"},
              .rows = {}};
  if (arguments.has("model")) {
    DETOL_TRY(add_model(study, arguments.text("model"), scores));
  } else {
    DETOL_ASSIGN(const auto trials, trials_called(study, arguments.text("trial", "best")));
    TestBench bench(study, arguments.globals.storage);
    for (const TrialSummary& trial : trials) {
      DETOL_ASSIGN(const event::Model model, bench.of_trial(trial));
      DETOL_ASSIGN(const Rows row, rows_of(study, {trial}));
      add_row(model, validation_of(row), scores);
    }
  }
  return scores;
}

Result<int> run_test(const Arguments& arguments) {
  DETOL_TRY(check_one_is_chosen(arguments));
  DETOL_ASSIGN(const auto threshold, threshold_from(arguments));
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const Rows scores, threshold ? scores_at(study, *threshold, arguments)
                                            : recorded_scores(study, arguments));
  const bool is_list = arguments.text("trial", "best") == "pareto" && !arguments.has("model");
  return is_list ? show(scores, arguments.globals) : show_record(scores, arguments.globals);
}

}  // namespace

Command test_command() {
  return {.name = "test",
          .summary = "show the test metrics of the weights that were scored",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--trial", "best|ID|pareto", "which; default: best"},
                      {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                      threshold_option()},
          .examples =
              "  detol test fashion-cnn\n"
              "  detol test fashion-cnn --trial pareto -f json\n"
              "  detol test fashion-cnn --model 3\n"
              "  detol test cards --threshold balanced_accuracy",
          .run = run_test};
}

}  // namespace detol::inline cli
