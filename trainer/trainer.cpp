// The built-in trainer: loads the data once, then compiles and trains candidate after
// candidate. What is the candidate's own fault is a result, not an error. In a group what ends
// one rank ends all, for the same reason.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "trainer/agreement.h"
#include "trainer/backend.h"
#include "trainer/dataset.h"
#include "trainer/evaluator.h"
#include "trainer/predict.h"
#include "trainer/train.h"

namespace detol {
namespace {

Evaluation failed(Cause cause, std::string reason) {
  return {Evaluation::End::kFailed, cause, std::move(reason)};
}

class Trainer final : public Evaluator {
 public:
  Trainer(DataConfig config, const BackendRow& backend, const TrainerOptions& options)
      : config_(std::move(config)),
        backend_(backend),
        group_(*options.group),
        batches_ahead_(options.batches_ahead) {}

  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    Recipe recipe = job.candidate.recipe;
    std::unique_ptr<Executable> executable;
    const Ending compiled = guarded(job, [&] { return compile(job, recipe, executable); });
    DETOL_ASSIGN(const auto end, agree(compiled, group_));
    if (end) return *end;
    const TrainingParts parts{.job = job,
                              .recipe = recipe,
                              .data = *data_,
                              .backend = backend_.name,
                              .executable = *executable,
                              .group = group_,
                              .control = control,
                              .batches_ahead = batches_ahead_};
    // One of several ranks cannot give up alone in the middle of a step: its process ends, and MPI
    // ends the others.
    if (group_.size() > 1) return train(parts, report);
    Result<Evaluation> ended;
    DETOL_ASSIGN(const auto out_of_memory, guarded(job, [&]() -> Ending {
                   ended = train(parts, report);
                   return std::nullopt;
                 }));
    return out_of_memory ? *out_of_memory : ended;
  }

 private:
  Ending compile(const Job& job, Recipe& recipe, std::unique_ptr<Executable>& executable) {
    if (!data_) {
      DETOL_ASSIGN(data_, load_dataset(config_));
    }
    DETOL_TRY(check_task(job.candidate.network));
    recipe.batch_size = std::min(recipe.batch_size, data_->info.training);
    if (recipe.batch_size < group_.size()) {
      return failed(Cause::kInvalid,
                    fmt::format("a batch of {} cannot be shared by the {} ranks of a group",
                                recipe.batch_size, group_.size()));
    }
    auto compiled = backend_.compile(job.candidate.network, recipe, {&group_, job.micro_batches});
    if (!compiled && compiled.error().code == ErrorCode::kInput) {
      return failed(Cause::kInvalid, compiled.error().message);
    }
    DETOL_ASSIGN(executable, std::move(compiled));
    return std::nullopt;
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
  std::optional<Dataset> data_;
};

}  // namespace

Result<std::unique_ptr<Evaluator>> make_trainer(const DataConfig& data,
                                                const TrainerOptions& options) {
  DETOL_ASSIGN(const BackendRow* backend, backend_called(options.backend));
  return std::make_unique<Trainer>(data, *backend, options);
}

}  // namespace detol
