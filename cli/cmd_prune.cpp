#include <algorithm>
#include <vector>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "core/table.h"
#include "models/model_network.h"
#include "models/pruning.h"
#include "models/stop_signals.h"
#include "models/test_score.h"

namespace detol::inline cli {
namespace {

constexpr const char* kDefaultImportance = "taylor";
constexpr int kMostLatencyBatch = 1 << 16;

Result<PruningTerms> terms_from(const Arguments& arguments, const StudyConfig& config) {
  DETOL_ASSIGN(PruningTerms terms, pruning_terms_from(arguments.text("to")));
  const std::string word = arguments.text("importance", kDefaultImportance);
  terms.importance = &*std::ranges::find(importances(), word, &ImportanceRow::name);
  const int batch = std::max(1, config.latency_batch);
  DETOL_ASSIGN(terms.latency_batch, number_at_most(arguments, "batch", batch, kMostLatencyBatch));
  return terms;
}

Result<int> run_prune(const Arguments& arguments) {
  const ExitAtSignals signals(kExitResumable);
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(const PruningTerms terms, terms_from(arguments, shared.config));
  DETOL_ASSIGN(const ParentModel parent, parent_from(arguments, study, shared));
  DETOL_ASSIGN(RunOptions run, training_options_of(arguments, study, shared));
  Retraining work{.study = study,
                  .shared = std::move(shared),
                  .trial = parent.network.trial,
                  .candidate = parent.network.candidate,
                  .run = std::move(run),
                  .trained_on = parent.trained_on,
                  .kind = ModelKind::kPruned,
                  .settings = settings_of(terms),
                  .parent = parent.model};
  DETOL_ASSIGN(work.candidate.recipe.epochs, epochs_from(arguments, work.shared.config));
  DETOL_ASSIGN(work.micro_batches, micro_batches_of(study, work.trial));
  DETOL_ASSIGN(std::vector<event::Model> models, models_to_train(work, record));
  DETOL_ASSIGN(const bool is_pruned, prune_for(parent.network, terms, work, models.front()));
  if (!is_pruned) return kExitResumable;
  DETOL_ASSIGN(const int code, train_and_show(work, record, models, arguments.globals));
  say_parent(study, parent);
  return code;
}

}  // namespace

Command prune_command() {
  return {
      .name = "prune",
      .summary = "remove the channels of a network that matter least, train it on, and test it",
      .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                  {"--trial", "best|ID", "which; default: best"},
                  {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                  {"--to", "WHAT=FRACTION",
                   "how much of its params, flops or latency is left: flops=0.5",
                   Option::kRequired},
                  one_of("--importance", "MEASURE", "by which channels go; default: taylor",
                         names_of(importances())),
                  {"--batch", "N", "images of the forward pass that is timed; default: 1"},
                  {"--epochs", "N", "how long it is trained on; default: the most of the study"},
                  device_option()},
      .examples =
          "  detol prune fashion-cnn --to flops=0.5\n"
          "  detol prune fashion-cnn --trial 12 --to latency=0.5 --batch 64\n"
          "  detol prune fashion-cnn --model 3 --to params=0.25 --importance magnitude",
      .run = run_prune};
}

}  // namespace detol::inline cli
