// The built-in trainer: loads the data once, then compiles and trains candidate after
// candidate. What is the candidate's own fault is a result, not an error.

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

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
  Trainer(DataConfig config, const BackendRow& backend)
      : config_(std::move(config)), backend_(backend) {}

  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    if (!data_) {
      DETOL_ASSIGN(data_, load_dataset(config_));
    }
    DETOL_TRY(check_task(job.candidate.network));
    try {
      return compile_and_train(job, report, control);
    } catch (const std::bad_alloc&) {
      return out_of_memory(job);
    } catch (const std::length_error&) {  // a vector of more than its max_size
      return out_of_memory(job);
    }
  }

 private:
  Result<Evaluation> compile_and_train(const Job& job, const Reporter& report,
                                       Control& control) const {
    Recipe recipe = job.candidate.recipe;
    recipe.batch_size = std::min(recipe.batch_size, data_->info.training);
    const auto executable = backend_.compile(job.candidate.network, recipe);
    if (!executable) {
      if (executable.error().code != ErrorCode::kInput) return tl::unexpected(executable.error());
      return failed(Cause::kInvalid, executable.error().message);
    }
    return detol::train({.job = job,
                         .recipe = recipe,
                         .data = *data_,
                         .backend = backend_.name,
                         .executable = **executable,
                         .control = control},
                        report);
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

  static Evaluation out_of_memory(const Job& job) {
    return failed(Cause::kOutOfMemory,
                  fmt::format("out of memory; {} bytes were foreseen", job.candidate.cost.memory));
  }

  const DataConfig config_;
  const BackendRow& backend_;
  std::optional<Dataset> data_;
};

}  // namespace

Result<std::unique_ptr<Evaluator>> make_trainer(const DataConfig& data,
                                                const TrainerOptions& options) {
  DETOL_ASSIGN(const BackendRow* backend, backend_called(options.backend));
  return std::make_unique<Trainer>(data, *backend);
}

}  // namespace detol
