#include <algorithm>
#include <vector>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "models/retraining.h"
#include "models/stop_signals.h"
#include "models/test_score.h"
#include "scheduler/run/devices.h"
#include "scheduler/run/preflight.h"
#include "studies/best_trial.h"
#include "trainer/trainer.h"

namespace detol::inline cli {
namespace {

// Returns the epoch after which a training on the validation data, too, stops: the one that gave
// the trial's value, with the trial's schedule, where later ones were worse. Nothing else says
// there when the network overfits. nullopt: none was, or it is chosen otherwise.
std::optional<int> last_epoch(const Arguments& arguments, const TrialSummary& trial) {
  const bool is_chosen = arguments.has("epochs") || arguments.has("from");
  if (arguments.text("on", kOnTraining) != kOnValidationToo || is_chosen) return std::nullopt;
  if (trial.best_epoch >= trial.epochs) return std::nullopt;
  return std::max(1, static_cast<int>(trial.best_epoch));
}

// Sets what is trained: the network with its epochs, and where it begins.
Result<void> set_training(const Arguments& arguments, const TrialSummary& trial, Retraining& work) {
  DETOL_TRY(set_network(trial, work));
  work.stops_after = last_epoch(arguments, trial);
  if (work.stops_after) return {};
  DETOL_ASSIGN(work.candidate.recipe.epochs, epochs_from(arguments, work.shared.config));
  if (arguments.text("from", kFromScratch) == kFromScratch) return {};
  DETOL_ASSIGN(TrainedNetwork network,
               trained_network(work.study, work.shared, work.run.storage, trial));
  const int done = network.checkpoint.epoch;
  if (done == 0 || network.checkpoint.progress.steps > 0) {
    return usage_error("trial {} stopped inside an epoch; use --from scratch", work.trial);
  }
  if (work.candidate.recipe.epochs <= done) {
    return usage_error(
        "trial {} was trained for {} epochs; to go on from there, --epochs must be more",
        work.trial, done);
  }
  work.from = std::move(network.checkpoint);
  return {};
}

Result<int> run_retrain(const Arguments& arguments) {
  const ExitAtSignals signals(kExitResumable);
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const TrialSummary trial, trial_called(study, arguments.text("trial", "best")));
  DETOL_ASSIGN(const int seeds, number_at_most(arguments, "seeds", 1, kMostSeeds));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  say_remarks(shared.config.data, shared.data->info);
  DETOL_ASSIGN(RunOptions run, training_options_of(arguments, study, shared));
  Retraining work{.study = study,
                  .shared = std::move(shared),
                  .trial = trial.id,
                  .count = seeds,
                  .run = std::move(run),
                  .trained_on = arguments.text("on", kOnTraining)};
  DETOL_TRY(set_training(arguments, trial, work));
  if (work.trained_on == kOnValidationToo) train_on_validation(work.shared.data->info);
  DETOL_ASSIGN(std::vector<event::Model> models, models_to_train(work, record));
  return train_and_show(work, record, models, arguments.globals);
}

}  // namespace

Command retrain_command() {
  return {.name = "retrain",
          .summary = "train a found network to full length, and test it",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which; default: best"},
                      {"--epochs", "N", "how long; default: the most of the study"},
                      {"--seeds", "K", "so many models, each with a seed; default: 1"},
                      one_of("--on", "SPLIT",
                             "which data; with the validation data the trial's best epoch is the "
                             "last; default: train",
                             {kOnTraining, kOnValidationToo}),
                      one_of("--from", "WHERE",
                             "new weights, or where the trial stopped; default: scratch",
                             {kFromScratch, kFromCheckpoint}),
                      workers_option(),
                      device_option()},
          .examples =
              "  detol retrain fashion-cnn --trial best --seeds 3\n"
              "  detol retrain fashion-cnn --trial 12 --epochs 30 --on train+validation\n"
              "  detol retrain fashion-cnn --trial 4 --from checkpoint",
          .run = run_retrain};
}

}  // namespace detol::inline cli
