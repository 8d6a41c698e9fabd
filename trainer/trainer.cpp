// The built-in trainer: loads the data once, then compiles and trains candidate after
// candidate. A fault of the candidate is a result, not an error. In a group, a reason that ends one
// rank ends all.

#include "trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/fault.h"
#include "core/log.h"
#include "trainer/agreement.h"
#include "trainer/backends/backend.h"
#include "trainer/data/batch_sharing.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/preprocessing.h"
#include "trainer/evaluator.h"
#include "trainer/latency.h"
#include "trainer/predict.h"
#include "trainer/train.h"

namespace detol::inline trainer {
namespace {

Evaluation failed(Cause cause, std::string reason) {
  return {Evaluation::End::kFailed, cause, std::move(reason)};
}

class Trainer final : public Evaluator {
 public:
  // Reads the data of the config, unless there are some in memory.
  Trainer(DataConfig config, const Dataset* data, const BackendRow& backend,
          const TrainerOptions& options)
      : config_(std::move(config)),
        backend_(backend),
        group_(*options.group),
        batches_ahead_(options.batches_ahead),
        record_(options.choices),
        latency_batch_(options.latency_batch),
        latency_constraints_(options.latency_constraints),
        ranking_(options.ranking),
        writes_preprocessing_(options.writes_preprocessing && group_.rank() == 0),
        data_(data) {}

  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    Recipe recipe = job.candidate.recipe;
    AlgorithmChoices choices;
    std::unique_ptr<Executable> executable;
    std::vector<Metric> measured;
    DETOL_ASSIGN(auto end, on_all(job, [&] { return prepare(job, recipe); }));
    if (!end) {
      DETOL_ASSIGN(end, on_all(job, [&] { return measure(job, control, measured); }));
    }
    if (!end) {
      DETOL_ASSIGN(end, choose(job, recipe, control, choices));
    }
    if (!end) {
      DETOL_ASSIGN(end, on_all(job, [&] { return compile(job, recipe, choices, executable); }));
    }
    if (end) return *end;
    const TrainingContext context{.job = job,
                                  .recipe = recipe,
                                  .data = *data_,
                                  .backend = backend_.name,
                                  .executable = *executable,
                                  .group = group_,
                                  .control = control,
                                  .batches_ahead = batches_ahead_,
                                  .measured = std::move(measured),
                                  .ranking = ranking_};
    // In a group, a rank that runs out of memory within a step ends its process, and MPI ends the
    // others.
    if (group_.size() > 1) return train(context, report);
    Result<Evaluation> ended;
    DETOL_ASSIGN(const auto out_of_memory, guarded(job, [&]() -> EarlyOutcome {
                   ended = train(context, report);
                   return std::nullopt;
                 }));
    return out_of_memory ? *out_of_memory : ended;
  }

 private:
  // Runs an action and returns the outcome that all ranks agree on.
  EarlyOutcome on_all(const Job& job, const std::function<EarlyOutcome()>& action) {
    return agree(guarded(job, action), group_);
  }

  EarlyOutcome prepare(const Job& job, Recipe& recipe) {
    if (data_ == nullptr) {
      DETOL_ASSIGN(own_data_, load_dataset(config_));
      data_ = &*own_data_;
      if (writes_preprocessing_) describe_data(job.folder.parent_path());
    }
    DETOL_TRY(check_task(job.candidate.network));
    if (!data_->teacher.empty() && loss_called(recipe.loss) == LossKind::kCrossEntropy)
      recipe.loss = kSoftTargetLoss;
    std::string why_not = why_not_shared(data_->info, recipe.batch_size, group_.size());
    if (!why_not.empty()) return failed(Cause::kInvalid, std::move(why_not));
    recipe.batch_size = std::min(recipe.batch_size, data_->info.training);
    return std::nullopt;
  }

  // A failure is no trial's: an export without the file reads the data.
  void describe_data(const std::filesystem::path& folder) const {
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const auto written = write_preprocessing(folder / kPreprocessingFile, preprocessing_of(*data_));
    if (!written) log_warning("exports will need the training data: {}", written.error().message);
  }

  // Times a forward pass, once in a trial: later attempts, whose reports the master completes,
  // begin after a report.
  EarlyOutcome measure(const Job& job, Control& control, std::vector<Metric>& measured) {
    const bool is_due = latency_batch_ > 0 && job.acknowledged == 0 && group_.rank() == 0;
    if (!is_due) return std::nullopt;
    const auto latency =
        latency_s(job.candidate.network, backend_, data_->info.task.kind, latency_batch_,
                  [&] { control.progress.fetch_add(1, std::memory_order_relaxed); });
    if (!latency) return invalid_or(latency.error());
    measured.push_back({"latency", *latency});
    for (const MetricConstraint& one : latency_constraints_) {
      if (violation_of(one, *latency) > 0)
        return failed(Cause::kTooLarge,
                      fmt::format("latency {:.4g} s {} {:g} s", *latency,
                                  one.high && *latency > *one.high ? '>' : '<',
                                  one.high && *latency > *one.high ? *one.high : *one.low));
    }
    return std::nullopt;
  }

  // Sets `choices` to the study's; the leader times and records those that are missing.
  EarlyOutcome choose(const Job& job, const Recipe& recipe, Control& control,
                      AlgorithmChoices& choices) {
    if (recipe.deterministic || backend_.list_algorithms == nullptr) return std::nullopt;
    const bool leads = group_.rank() == 0 && record_ != nullptr;
    DETOL_ASSIGN(const auto end, on_all(job, [&]() -> EarlyOutcome {
                   return leads ? time_and_record(job, recipe, control, choices) : std::nullopt;
                 }));
    if (!end && group_.size() > 1)
      choices = choices_from(group_.share(leads ? to_text(choices) : std::string()));
    return end;
  }

  EarlyOutcome time_and_record(const Job& job, const Recipe& recipe, Control& control,
                               AlgorithmChoices& choices) {
    choices = record_->known();
    auto timed = backend_.time_algorithms(job.candidate.network, recipe,
                                          {&group_, job.micro_batches, &choices},
                                          [&] { control.progress.fetch_add(1); });
    if (!timed) return invalid_or(timed.error());
    if (timed->empty()) return std::nullopt;
    fault_or_throw("worker.choice");
    std::optional<AlgorithmChoices> settled = record_->settle(*timed);
    if (!settled) return Evaluation{.end = Evaluation::End::kSuspended, .reason = {}};
    choices = *std::move(settled);
    return std::nullopt;
  }

  EarlyOutcome compile(const Job& job, const Recipe& recipe, const AlgorithmChoices& choices,
                       std::unique_ptr<Executable>& executable) {
    const Placement placement{&group_, job.micro_batches,
                              choices.algorithms.empty() ? nullptr : &choices};
    auto compiled = backend_.compile(job.candidate.network, recipe, placement);
    if (!compiled) return invalid_or(compiled.error());
    executable = *std::move(compiled);
    return std::nullopt;
  }

  // Returns a failed evaluation for a layer that the backend cannot run, else the error.
  static EarlyOutcome invalid_or(const Error& error) {
    if (error.code == ErrorCode::kInput) return failed(Cause::kInvalid, error.message);
    return tl::unexpected(error);
  }

  Result<void> check_task(const Network& network) const {
    const Task& task = data_->info.task;
    if (network.input_shape() == task.input && network.output().shape.channels == task.classes) {
      return {};
    }
    return fail(ErrorCode::kInput,
                fmt::format("{}: images of {} in {} classes, but the candidate is for {} and {}; "
                            "the data changed since the study began",
                            config_.path, to_text(task.input), task.classes,
                            to_text(network.input_shape()), network.output().shape.channels));
  }

  const DataConfig config_;
  const BackendRow& backend_;
  Group& group_;
  const int batches_ahead_;
  AlgorithmRecord* const record_;
  const int latency_batch_;
  const std::vector<MetricConstraint> latency_constraints_;
  const std::optional<EpochRanking> ranking_;
  const bool writes_preprocessing_;
  std::optional<Dataset> own_data_;
  const Dataset* data_;  // null: not read yet
};

Result<const BackendRow*> usable_backend(const std::string& name) {
  DETOL_ASSIGN(const BackendRow* backend, backend_called(name));
  if (const std::string why = backend->why_not ? backend->why_not() : ""; !why.empty())
    return fail(ErrorCode::kUsage, why);
  return backend;
}

}  // namespace

Result<std::unique_ptr<Evaluator>> make_trainer(const DataConfig& data,
                                                const TrainerOptions& options) {
  DETOL_ASSIGN(const BackendRow* backend, usable_backend(options.backend));
  return std::make_unique<Trainer>(data, nullptr, *backend, options);
}

Result<std::unique_ptr<Evaluator>> make_trainer_on(const Dataset& data,
                                                   const TrainerOptions& options) {
  DETOL_ASSIGN(const BackendRow* backend, usable_backend(options.backend));
  return std::make_unique<Trainer>(DataConfig{.format = {}, .path = "the data"}, &data, *backend,
                                   options);
}

}  // namespace detol::inline trainer
