#include "models/retraining.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "core/clock.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/rng.h"
#include "core/usable.h"
#include "knowledge/artefacts.h"
#include "models/child_trainings.h"
#include "models/test_score.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/trainer.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

constexpr int kBatchesPrepared = 2;   // as workers of a search prepare
constexpr double kBetweenLinesS = 1;  // of one model

std::uint64_t model_seed(std::uint64_t study_seed, std::int64_t model) {
  return Rng(study_seed)
      .split(hash64("model seed"))
      .split(static_cast<std::uint64_t>(model))
      .next();
}

const char* began_from(const Retraining& work) {
  const bool is_new = work.kind == ModelKind::kRetrained || work.kind == ModelKind::kDistilled;
  return work.from || !is_new ? kFromCheckpoint : kFromScratch;
}

double epochs_of(const Retraining& work) {
  return work.stops_after.value_or(work.candidate.recipe.epochs);
}

bool is_asked_for(const Retraining& work, const event::Model& model) {
  return model.kind == work.kind && model.trial == work.trial && model.parent == work.parent &&
         model.settings == work.settings && model.epochs == epochs_of(work) &&
         model.trained_on == work.trained_on && model.began_from == began_from(work);
}

// Returns the models of the last command that asked for the same and is not done; none if there is
// no such command.
std::vector<event::Model> unfinished(const Retraining& work,
                                     const std::vector<event::Model>& models) {
  std::map<std::int64_t, std::vector<event::Model>, std::greater<>> commands;
  for (const event::Model& model : models) {
    if (is_asked_for(work, model)) commands[model.first].push_back(model);
  }
  for (auto& [first, own] : commands) {
    const bool is_done =
        std::ranges::find(own, ModelState::kTraining, &event::Model::state) == own.end();
    if (!is_done && std::cmp_equal(own.size(), work.count)) return std::move(own);
  }
  return {};
}

event::Model new_model(const Retraining& work, std::int64_t number, std::int64_t first) {
  const std::uint64_t seed = model_seed(work.shared.config.seed, number);
  return {.model = number,
          .trial = work.trial,
          .kind = work.kind,
          .state = ModelState::kTraining,
          .seed = std::bit_cast<std::int64_t>(seed),
          .epochs = epochs_of(work),
          .trained_on = work.trained_on,
          .began_from = began_from(work),
          .first = first,
          .network_params = work.candidate.cost.params,
          .flops = work.candidate.cost.flops,
          .dataset = to_hex(work.study.record.data_fingerprint),
          .folder = fmt::format("models/{}", number),
          .at_s = system_clock().wall_s(),
          .parent = work.parent,
          .settings = work.settings};
}

double reported_in(const std::optional<Checkpoint>& checkpoint) {
  return checkpoint && !checkpoint->history.empty() ? checkpoint->history.back().epochs() : 0;
}

// Trains one model, in a child process.
Result<Evaluation> train_model(const Retraining& work, const event::Model& model, int place,
                               const Reporter& report, Control& control) {
  select_gpus(work.run.gpus, place);
  const Dataset& data = *work.shared.data;
  Job job = job_of(work, model);
  DETOL_ASSIGN(const auto found, newest_checkpoint(job.folder, job.attempt));
  if (!found && work.from) DETOL_TRY(begin_at(*work.from, job, data, work.run.backend));
  job.acknowledged = reported_in(found ? found : work.from);
  if (job.acknowledged >= model.epochs) return Evaluation{};
  TrainerOptions options{.backend = work.run.backend, .batches_ahead = kBatchesPrepared};
  if (data.info.validation > 0) options.ranking = epoch_ranking_of(work.shared.config);
  DETOL_ASSIGN(const auto trainer, make_trainer_on(data, options));
  control.undecided = model.epochs;
  const auto until = [&](const EpochReport& epoch, bool more) {
    const Verdict verdict = report(epoch, more);
    return epoch.epochs() >= model.epochs ? Verdict::kStop : verdict;
  };
  return trainer->evaluate(job, until, control);
}

// ProgressLines: at most one line a second of each model, and one of its last epoch.
class ProgressLines {
 public:
  explicit ProgressLines(const Retraining& work) : work_(work) {}

  void say(const event::Model& model, const EpochReport& report) {
    const double now_s = system_clock().now_s();
    const auto [said, is_first] = said_s_.try_emplace(model.model, now_s);
    const bool is_last = report.epochs() == model.epochs;
    if (!is_first && !is_last && now_s - said->second < kBetweenLinesS) return;
    said->second = now_s;
    log_info("model {}: epoch {:.6g} of {}{}", model.model, report.epochs(), model.epochs,
             said_metric(report));
  }

 private:
  // Returns the first objective, or else the first metric.
  std::string said_metric(const EpochReport& report) const {
    const std::string& objective = work_.study.record.objectives.front().metric;
    auto found = std::ranges::find(report.metrics, objective, &Metric::name);
    if (found == report.metrics.end()) found = report.metrics.begin();
    if (found == report.metrics.end()) return "";
    return fmt::format(", {} {:.4g}", found->name, found->value);
  }

  const Retraining& work_;
  std::map<std::int64_t, double> said_s_;
};

Result<std::vector<Evaluation>> train(const Retraining& work,
                                      const std::vector<event::Model*>& models) {
  std::vector<ChildTraining> trainings;
  for (const event::Model* model : models) {
    trainings.emplace_back([&work, model](int place, const Reporter& report, Control& control) {
      return train_model(work, *model, place, report, control);
    });
  }
  ProgressLines lines(work);
  return train_in_children({.trainings = trainings,
                            .at_once = models_at_a_time(work.run),
                            .attempts = work.shared.config.resources.attempts,
                            .on_report = [&](std::size_t i, const EpochReport& report) {
                              lines.say(*models[i], report);
                            }});
}

// Adds the metrics of a model that has been trained, and leaves only its last checkpoint.
Result<void> test_model(const Retraining& work, const std::string& backend, event::Model& model) {
  const fs::path folder = folder_of(work, model);
  auto checkpoint = read_checkpoint(folder, model.epochs);
  if (!checkpoint) return fail(ErrorCode::kExport, checkpoint.error().message);
  DETOL_ASSIGN(const auto metrics, test_metrics(work.candidate.network, best_weights(*checkpoint),
                                                work.candidate.recipe, *work.shared.data, backend));
  for (const auto& [name, value] : best_report(*checkpoint)->metrics)
    model.metrics.emplace_back(name, value);
  add_metrics(metrics, model);
  model.state = ModelState::kComplete;
  model.at_s = system_clock().wall_s();
  remove_checkpoints(folder, model.epochs);
  return {};
}

// Its checkpoints are of no use.
void note_failure(const Retraining& work, const Evaluation& ended, event::Model& model) {
  log_warning("model {} failed: {}: {}", model.model, to_text(ended.cause), ended.reason);
  model.state = ModelState::kFailed;
  model.failure = to_text(ended.cause);
  model.reason = ended.reason;
  model.at_s = system_clock().wall_s();
  remove_checkpoints(folder_of(work, model), 0);
}

}  // namespace

fs::path folder_of(const Retraining& work, const event::Model& model) {
  return artefact_folder(work.run.storage, work.study.record.name) / model.folder;
}

Job job_of(const Retraining& work, const event::Model& model) {
  return {.trial = work.trial,
          .seed = std::bit_cast<std::uint64_t>(model.seed),
          .candidate = work.candidate,
          .folder = folder_of(work, model),
          .micro_batches = work.micro_batches};
}

int models_at_a_time(const RunOptions& run) {
  if (run.workers > 0) return run.workers;
  if (run.workers == 0 && run.config.resources.workers > 0) return run.config.resources.workers;
  return run.gpus.empty() ? usable_cores().count : static_cast<int>(run.gpus.size());
}

Result<int> micro_batches_of(const OpenStudy& study, TrialId trial) {
  DETOL_ASSIGN(const auto events, study.reader->events(study.record.id));
  int micro_batches = 1;
  for (const Event& event : events) {
    const auto* started = std::get_if<event::Started>(&event);
    if (started != nullptr && started->trial == trial) micro_batches = started->micro_batches;
  }
  return micro_batches;
}

Result<void> set_network(const TrialSummary& trial, Retraining& work) {
  const StudyConfig& config = work.shared.config;
  DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
  auto candidate = config.candidate(genome, work.shared.preprocessing.task);
  if (!candidate) return fail(ErrorCode::kEmpty, candidate.error().reason);
  work.candidate = *std::move(candidate);
  DETOL_ASSIGN(work.micro_batches, micro_batches_of(work.study, work.trial));
  return {};
}

Result<std::vector<event::Model>> models_to_train(const Retraining& work, ModelRecord& record) {
  DETOL_ASSIGN(const std::vector<event::Model> all, record.models());
  std::vector<event::Model> models = unfinished(work, all);
  if (!models.empty()) {
    log_info("going on with models {} to {} of an earlier command", models.front().model,
             models.back().model);
    return models;
  }
  const std::int64_t first = next_number(all);
  for (std::int64_t i = 0; i < work.count; ++i) models.push_back(new_model(work, first + i, first));
  return models;
}

Result<bool> train_models(const Retraining& work, ModelRecord& record,
                          std::vector<event::Model>& models) {
  DETOL_TRY(record.save(models));
  std::vector<event::Model*> open;
  for (event::Model& model : models) {
    if (model.state == ModelState::kTraining) open.push_back(&model);
  }
  DETOL_ASSIGN(const std::vector<Evaluation> ends, train(work, open));
  if (std::ranges::find(ends, Evaluation::End::kSuspended, &Evaluation::end) != ends.end())
    return false;
  const std::string backend = inference_backend(work.run.storage, work.study.record.name);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (ends[i].end == Evaluation::End::kFailed)
      note_failure(work, ends[i], *open[i]);
    else
      DETOL_TRY(test_model(work, backend, *open[i]));
    DETOL_TRY(record.save({open[i], 1}));
  }
  return true;
}

}  // namespace detol::inline models
