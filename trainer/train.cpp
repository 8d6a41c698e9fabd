// The training loop: epochs of steps, each epoch followed by a look at the validation part,
// a durable checkpoint, and only then the report, so that nothing reported can be lost and
// nothing has to be trained twice.
//
// Reproducible to the bit however often a trial is interrupted: batches are a function of
// (seed, epoch, position), dropout of (seed, step), the learning rate of the step, and
// everything else is in the checkpoint.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <stdexcept>

#include "core/clock.h"
#include "core/hash.h"
#include "core/log.h"
#include "trainer/backend.h"
#include "trainer/checkpoint.h"
#include "trainer/data/batches.h"
#include "trainer/dataset.h"
#include "trainer/evaluator.h"
#include "trainer/predict.h"
#include "trainer/schedule.h"

namespace detol {
namespace {

constexpr std::uint64_t kDropoutStream = 0x64726f70;  // "drop": apart from weights and batches

Evaluation failed(Cause cause, std::string reason) {
  return {Evaluation::End::kFailed, cause, std::move(reason)};
}

// How the evaluation ends after this verdict, if it does.
std::optional<Evaluation> end_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kContinue:
      return std::nullopt;
    case Verdict::kStop:
      return Evaluation{.end = Evaluation::End::kFinished, .reason = {}};
    case Verdict::kSuspend:
      break;
  }
  return Evaluation{.end = Evaluation::End::kSuspended, .reason = {}};
}

// Everything that the numbers of a job depend on: a checkpoint of another is not continued.
std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend) {
  const Recipe& r = job.candidate.recipe;
  return hash64(fmt::format("{} {} {} {} | {} {} {} {} {} {} {} {} | {} {} {} {} {} {} {} | {} {}",
                            job.candidate.arch_hash, job.seed, data.info.fingerprint, backend,
                            r.optimizer, r.lr, r.momentum, r.nesterov, r.beta2, r.epsilon,
                            r.weight_decay, r.batch_size, r.epochs, r.loss, r.label_smoothing,
                            r.schedule, r.warmup_epochs, r.precision, r.deterministic,
                            r.crop_padding, r.horizontal_flip));
}

// One job on its way through its epochs.
class Training {
 public:
  Training(const Job& job, const Recipe& recipe, const Dataset& data, Executable& executable,
           Control& control)
      : job_(job),
        recipe_(recipe),
        data_(data),
        executable_(executable),
        control_(control),
        batches_(data, recipe, job.seed),
        normaliser_(data) {}

  // Begins behind the newest checkpoint of the job, or with fresh weights.
  Result<void> start(std::uint64_t job_hash) {
    DETOL_ASSIGN(std::optional<Checkpoint> found, newest_checkpoint(job_.folder));
    if (found && continues(*found, job_hash)) {
      at_ = std::move(*found);
      at_.attempt = job_.attempt;
    } else {
      if (found) DETOL_TRY(set_aside_checkpoints(job_.folder));
      at_ = Checkpoint{.trial = job_.trial,
                       .attempt = job_.attempt,
                       .arch_hash = job_.candidate.arch_hash,
                       .job_hash = job_hash,
                       .history = {},
                       .state = {initial_weights(job_.candidate.network, job_.seed), {}}};
    }
    executable_.set_state(at_.state);
    return {};
  }

  Result<Evaluation> run(const Reporter& report) {
    for (const EpochReport& known : at_.history) {
      if (auto end = tell(known, report)) return *end;
    }
    while (at_.epoch < recipe_.epochs) {
      if (auto end = train_epoch(at_.epoch + 1)) return *end;
      at_.state = executable_.state();
      DETOL_TRY(write_checkpoint(job_.folder, at_));
      if (auto end = tell(at_.history.back(), report)) return *end;
    }
    return Evaluation{.end = Evaluation::End::kFinished, .reason = {}};
  }

 private:
  bool continues(const Checkpoint& found, std::uint64_t job_hash) const {
    if (found.trial == job_.trial && found.job_hash == job_hash &&
        found.history.size() == static_cast<std::size_t>(found.epoch) &&
        fits(found.state.weights, job_.candidate.network)) {
      return true;
    }
    log_warning("{}: the checkpoint of epoch {} is of other settings; trial {} starts afresh",
                job_.folder.string(), found.epoch, job_.trial);
    return false;
  }

  std::optional<Evaluation> tell(const EpochReport& epoch, const Reporter& report) const {
    if (epoch.epoch <= job_.acknowledged) return std::nullopt;
    return end_of(report(epoch));
  }

  // Trains and validates one epoch; a value if the candidate failed there.
  std::optional<Evaluation> train_epoch(int epoch) {
    const double start = system_clock().now_s();
    batches_.start_epoch(epoch);
    const std::int64_t steps = batches_.steps_per_epoch();
    const std::uint64_t dropout_seed = hash_combine(job_.seed, kDropoutStream);
    double loss = 0;
    std::int64_t correct = 0;
    for (std::int64_t step = 0; step < steps; ++step, ++at_.step) {
      batches_.fill(step, executable_.images(), executable_.labels());
      const double lr = learning_rate(recipe_, at_.step, steps);
      const BatchResult result = executable_.train_step({lr, at_.step, dropout_seed});
      raise_progress();
      if (!std::isfinite(result.loss)) return diverged("training", result.loss, epoch);
      loss += result.loss;
      correct += result.correct;
    }
    const Score validation =
        score(executable_, data_, normaliser_, range_of(data_.info, Part::kValidation),
              [this] { raise_progress(); });
    if (!std::isfinite(validation.loss)) return diverged("validation", validation.loss, epoch);
    const auto images = static_cast<double>(steps * recipe_.batch_size);
    at_.epoch = epoch;
    at_.history.push_back({.epoch = epoch,
                           .metrics = {{"val_accuracy", validation.accuracy},
                                       {"val_loss", validation.loss},
                                       {"train_loss", loss / static_cast<double>(steps)},
                                       {"train_accuracy", static_cast<double>(correct) / images}},
                           .work = static_cast<double>(job_.candidate.cost.flops) * images * epoch,
                           .train_s = system_clock().now_s() - start});
    return std::nullopt;
  }

  Evaluation diverged(std::string_view which, double loss, int epoch) const {
    return failed(Cause::kDiverged, fmt::format("the {} loss is {} in epoch {}, step {} (lr {:g})",
                                                which, loss, epoch, at_.step, recipe_.lr));
  }

  void raise_progress() { control_.progress.fetch_add(1, std::memory_order_relaxed); }

  const Job& job_;
  const Recipe& recipe_;
  const Dataset& data_;
  Executable& executable_;
  Control& control_;
  Batches batches_;
  const Normaliser normaliser_;
  Checkpoint at_;  // what the next checkpoint will say; its state is that of the last one
};

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
      return train(job, report, control);
    } catch (const std::bad_alloc&) {
      return out_of_memory(job);
    } catch (const std::length_error&) {  // a vector of more than its max_size
      return out_of_memory(job);
    }
  }

 private:
  Result<Evaluation> train(const Job& job, const Reporter& report, Control& control) const {
    Recipe recipe = job.candidate.recipe;
    recipe.batch_size = std::min(recipe.batch_size, data_->info.training);
    const auto executable = backend_.compile(job.candidate.network, recipe);
    if (!executable) {
      if (executable.error().code != ErrorCode::kInput) return tl::unexpected(executable.error());
      return failed(Cause::kInvalid, executable.error().message);
    }
    Training training(job, recipe, *data_, **executable, control);
    DETOL_TRY(training.start(hash_of(job, *data_, backend_.name)));
    return training.run(report);
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
