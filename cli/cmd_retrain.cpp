#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/output.h"
#include "cli/retraining.h"
#include "cli/run_options.h"
#include "cli/stop_signals.h"
#include "cli/test_score.h"
#include "core/exit_code.h"
#include "core/log.h"
#include "trainer/trainer.h"

namespace detol::inline cli {
namespace {

constexpr int kMostEpochs = 100000;  // as training.epochs
constexpr int kMostSeeds = 1000;

Result<int> at_most(const Arguments& arguments, std::string_view key, int otherwise, int most) {
  DETOL_ASSIGN(const auto number, arguments.number(key, 1));
  if (number.value_or(otherwise) <= most) return static_cast<int>(number.value_or(otherwise));
  return fail(ErrorCode::kUsage,
              fmt::format("{} is {}; it must be at most {}", key, *number, most));
}

// Chooses the device as a resume of the study does.
Result<RunOptions> run_options_of(const Arguments& arguments, const OpenStudy& study,
                                  const StudyData& shared) {
  RunOptions options;
  options.config = shared.config;
  options.storage = arguments.globals.storage;
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  if (options.workers == kNoWorkers)
    return fail(ErrorCode::kUsage, "workers is 0; it must be at least 1");
  DETOL_ASSIGN(const std::string before, last_backend(options.storage, study.record.name));
  DETOL_TRY(choose_device({.device = arguments.text("device", "auto"),
                           .budget = {},
                           .previous_backend = before,
                           .data = shared.data->info},
                          options));
  return options;
}

// Sets what is trained: the network with its epochs, and where it begins.
Result<void> set_training(const Arguments& arguments, const Rows& trials, Retraining& work) {
  const StudyConfig& config = work.shared.config;
  DETOL_ASSIGN(const Genome genome, genome_of(config, trials, 0));
  auto candidate = config.candidate(genome, work.shared.preprocessing.task);
  if (!candidate) return fail(ErrorCode::kEmpty, candidate.error().reason);
  work.candidate = *std::move(candidate);
  DETOL_ASSIGN(work.micro_batches, micro_batches_of(work.study, work.trial));
  DETOL_ASSIGN(work.candidate.recipe.epochs,
               at_most(arguments, "epochs", config.max_epochs, kMostEpochs));
  if (arguments.text("from", kFromScratch) == kFromScratch) return {};
  DETOL_ASSIGN(TrainedNetwork network,
               trained_network(work.study, work.shared, work.run.storage, trials, 0));
  const int done = network.checkpoint.epoch;
  if (done == 0 || network.checkpoint.progress.steps > 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("trial {} stopped inside an epoch; use --from scratch", work.trial));
  }
  if (work.candidate.recipe.epochs <= done) {
    return fail(ErrorCode::kUsage,
                fmt::format("trial {} was trained for {} epochs; to go on from there, --epochs "
                            "must be more",
                            work.trial, done));
  }
  work.from = std::move(network.checkpoint);
  return {};
}

Rows rows_of(const std::vector<event::Model>& models) {
  Rows rows{.columns = {"model", "trial", "state", "failure", "reason", "seed", "epochs",
                        "trained_on", "began_from", "values", "test", "test_interval"},
            .rows = {}};
  for (const event::Model& model : models) {
    rows.rows.push_back({model.model, static_cast<std::int64_t>(model.trial), model.state,
                         model.failure, model.reason, model.seed, model.epochs, model.trained_on,
                         model.began_from, values_json(model), test_json(model),
                         interval_json(model)});
  }
  return rows;
}

Rows shown(const std::vector<event::Model>& models, const Globals& globals) {
  Rows rows = rows_of(models);
  if (globals.format != Format::kTable) return rows;
  return only_columns(rows, {"model", "trial", "state", "epochs", "test", "test_interval"});
}

void say_spread(const OpenStudy& study, const std::vector<event::Model>& models) {
  std::vector<event::Model> tested;
  std::ranges::copy_if(models, std::back_inserter(tested),
                       [](const event::Model& model) { return model.state == kComplete; });
  if (tested.size() == 1) {
    log_info("model {} of trial {}: {}", tested[0].model, tested[0].trial,
             with_interval(tested[0], said_metric(study, tested[0])));
  }
  if (tested.size() < 2) return;
  std::string text;
  for (const auto& [metric, low, high] : tested[0].intervals)
    text += (text.empty() ? "" : ", ") + with_deviation(tested, metric);
  log_info("trial {}, mean and standard deviation of {} models: {}", tested[0].trial, tested.size(),
           text);
}

Result<int> run_retrain(const Arguments& arguments) {
  const ExitAtSignals signals(kExitResumable);
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const Rows trials, one_trial(study, arguments.text("trial", "best")));
  DETOL_ASSIGN(const int seeds, at_most(arguments, "seeds", 1, kMostSeeds));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(RunOptions run, run_options_of(arguments, study, shared));
  Retraining work{.study = study,
                  .shared = std::move(shared),
                  .trial = trial_of(trials, 0),
                  .candidate = {},
                  .from = {},
                  .count = seeds,
                  .run = std::move(run),
                  .trained_on = arguments.text("on", kOnTraining)};
  DETOL_TRY(set_training(arguments, trials, work));
  if (work.trained_on == kOnValidationToo) train_on_validation(work.shared.data->info);
  DETOL_ASSIGN(std::vector<event::Model> models, models_to_train(work, record));
  DETOL_ASSIGN(const bool is_done, train_models(work, record, models));
  if (!is_done) {
    log_info("stopped; the same command goes on");
    return kExitResumable;
  }
  DETOL_TRY(print_data(render(shown(models, arguments.globals), arguments.globals)));
  say_spread(study, models);
  const auto failed = std::ranges::count(models, kFailed, &event::Model::state);
  if (std::cmp_less(failed, models.size())) return kExitDone;
  return fail(ErrorCode::kFailures,
              fmt::format("no model of trial {} could be trained (see above); "
                          "take another trial",
                          work.trial));
}

}  // namespace

Command retrain_command() {
  return {.name = "retrain",
          .summary = "train a found network to full length, and test it",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which; default: best"},
                      {"--epochs", "N", "how long; default: the most of the study"},
                      {"--seeds", "K", "so many models, each with a seed; default: 1"},
                      {"--on",
                       "SPLIT",
                       "which data; with the validation data the last epoch counts, not the best; "
                       "default: train",
                       Option::kOptional,
                       {kOnTraining, kOnValidationToo}},
                      {"--from",
                       "WHERE",
                       "new weights, or where the trial stopped; default: scratch",
                       Option::kOptional,
                       {kFromScratch, kFromCheckpoint}},
                      {"-j,--workers", "N|auto",
                       "models that are trained at a time; auto: one on "
                       "each core or GPU"},
                      {"--device",
                       "DEVICE",
                       "what trains; auto: what trained the study",
                       Option::kOptional,
                       {"auto", "cpu", "cuda"}}},
          .examples =
              "  detol retrain fashion-cnn --trial best --seeds 3\n"
              "  detol retrain fashion-cnn --trial 12 --epochs 30 --on train+validation\n"
              "  detol retrain fashion-cnn --trial 4 --from checkpoint",
          .run = run_retrain};
}

}  // namespace detol::inline cli
