// The training loop: epochs of steps, each epoch (and some parts of the first) followed by
// validation, a durable checkpoint, and only then the report, so that nothing reported can be lost
// and nothing has to be trained twice. A suspended training leaves a checkpoint inside the epoch.
//
// Reproducible to the bit however often a trial is interrupted: batches are a function of
// (seed, epoch, position), dropout of (seed, step), the learning rate of the step, and
// everything else is in the checkpoint.
//
// In a group all ranks train and validate together, and every decision is the same on each:
// decisions from numbers because the numbers are the same, and the leader's because the ranks agree
// on them. Only the leader reads and writes checkpoints, reports, and receives suspensions.

#include "trainer/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/fault.h"
#include "core/hash.h"
#include "trainer/agreement.h"
#include "trainer/checkpoint.h"
#include "trainer/checkpoint_format.h"
#include "trainer/checkpointed_reports.h"
#include "trainer/data/batches.h"
#include "trainer/data/feed.h"
#include "trainer/early_reports.h"
#include "trainer/job_hash.h"
#include "trainer/metrics.h"
#include "trainer/predict.h"
#include "trainer/schedule.h"
#include "trainer/scoped_timer.h"
#include "trainer/starting_checkpoint.h"
#include "trainer/step_sums.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kLookEvery = 16;               // steps, on a device
constexpr std::uint64_t kDropoutStream = 0x64726f70;  // "drop": other than for weights and batches

class Training {
 public:
  Training(const TrainingContext& context, const Reporter& report)
      : job_(context.job),
        recipe_(context.recipe),
        data_(context.data),
        executable_(context.executable),
        group_(context.group),
        control_(context.control),
        lag_(context.group.size() > 1 ? static_cast<std::size_t>(context.recipe.staleness) : 0),
        batches_(context.data, context.recipe, context.job.seed),
        normaliser_(context.data),
        metrics_(context.data, range_of(context.data.info, DataSplit::kValidation)),
        batches_ahead_(context.batches_ahead),
        measured_(context.measured),
        early_(early_reports_of(context.recipe, batches_.steps_per_epoch())),
        in_flight_(context.group),
        ranks_epochs_(context.ranking.has_value()),
        reports_(context, report, checkpoint_) {}

  // Begins from the checkpoint that the leader finds, as the other ranks may not see its disk.
  EarlyOutcome start(std::uint64_t job_hash) {
    DETOL_ASSIGN(auto end, on_leader([&] { return find_start(job_hash); }));
    if (end) return end;
    DETOL_ASSIGN(end, agree(guarded(job_, [&] { return take_start(); }), group_));
    if (end) return end;
    return agree(guarded(job_, [&] { return find_batches(); }), group_);
  }

  Result<Evaluation> run() {
    DETOL_ASSIGN(auto end, on_leader([&] { return reports_.tell_history(); }));
    while (!end && checkpoint_.epoch < recipe_.epochs) {
      end = train_to_report();
      group_.finish();
      if (end && end->end == Evaluation::End::kFailed) {
        if (is_leader()) reports_.tell_before_failure();
        return *end;
      }
      executable_.share_state();
      const bool stopped = end.has_value();
      DETOL_ASSIGN(end, on_leader([&] {
                     return stopped ? reports_.keep_position() : reports_.keep_report();
                   }));
    }
    if (end && end->end == Evaluation::End::kSuspended)
      end->unreported_s = checkpoint_.progress.train_s;
    return end.value_or(Evaluation{.end = Evaluation::End::kFinished, .reason = {}});
  }

 private:
  // Runs an action only on the leader; returns its outcome on every rank.
  EarlyOutcome on_leader(const std::function<EarlyOutcome()>& action) {
    return agree(is_leader() ? guarded(job_, action) : EarlyOutcome(), group_);
  }
  bool is_leader() const { return group_.rank() == 0; }

  EarlyOutcome find_start(std::uint64_t job_hash) {
    const ResumeConditions conditions{job_hash, batches_.steps_per_epoch(), early_.size(),
                                      ranks_epochs_};
    DETOL_ASSIGN(StartingCheckpoint start, starting_checkpoint(job_, conditions));
    checkpoint_ = std::move(start.checkpoint);
    if (start.inherited) measured_.push_back({std::string(kInheritedMetric), *start.inherited});
    start_ = group_.size() > 1 ? to_bytes(checkpoint_) : std::string();
    return std::nullopt;
  }

  EarlyOutcome take_start() {
    if (group_.size() > 1) {
      auto shared = from_bytes(group_.share(std::exchange(start_, {})));
      if (!shared) return fail(ErrorCode::kInternal, shared.error().reason);
      checkpoint_ = std::move(*shared);
    }
    executable_.set_state(checkpoint_.state);
    return std::nullopt;
  }

  // Chooses batches on the device if all ranks can (steps_on() agrees on it), else from a feed.
  EarlyOutcome find_batches() {
    device_ = executable_.steps_on(data_);
    if (device_ == nullptr)
      feed_.emplace(batches_, executable_.micro_batches(), executable_.targets(), batches_ahead_);
    return std::nullopt;
  }

  // Returns the early report that comes next; nullptr if the next one is of a whole epoch.
  const EarlyReport* next_early() const {
    const std::size_t told = checkpoint_.history.size();
    return checkpoint_.epoch == 0 && told < early_.size() ? &early_[told] : nullptr;
  }

  // Returns the steps of this epoch before the next report.
  std::int64_t steps_to_report() const {
    const EarlyReport* early = next_early();
    return early != nullptr ? early->steps : batches_.steps_per_epoch();
  }

  // Trains to the next report, and validates; returns a value if the candidate failed or was
  // suspended.
  std::optional<Evaluation> train_to_report() {
    if (auto end = train_steps()) return end;
    const Range range = range_of(data_.info, DataSplit::kValidation);
    const Score validation = [&] {
      const ScopedTimer timer(checkpoint_.progress.train_s);
      executable_.share_statistics();
      return score(executable_, {data_, normaliser_, range, group_, metrics_.outputs()}, [this] {
        raise_progress();
        return !wants_suspension();
      });
    }();
    if (validation.images < range.count) return suspended();
    if (!std::isfinite(validation.loss))
      return diverged("validation", validation.loss, checkpoint_.step);
    record(validation);
    return std::nullopt;
  }

  std::optional<Evaluation> train_steps() {
    EpochProgress& progress = checkpoint_.progress;
    const ScopedTimer timer(progress.train_s);
    must_suspend_ = false;
    if (auto end = device_ != nullptr ? steps_on_device() : steps_from_feed()) return end;
    const bool is_complete = progress.steps == steps_to_report();
    if (must_suspend_ && !is_complete) return suspended();
    return std::nullopt;
  }

  std::optional<Evaluation> steps_from_feed() {
    EpochProgress& progress = checkpoint_.progress;
    feed_->start_epoch(checkpoint_.epoch + 1, progress.steps);
    send({});
    auto end = receive();
    while (!end && !must_suspend_ && progress.steps < steps_to_report()) {
      send(train_batch());
      raise_progress();
      ++progress.steps;
      ++checkpoint_.step;
      if (in_flight_.size() > lag_) end = receive();
    }
    while (!end && in_flight_.size() > 0) end = receive();
    return end;
  }

  // Every kLookEvery steps the host reads finished results, while the device runs later steps.
  std::optional<Evaluation> steps_on_device() {
    const std::int64_t first = checkpoint_.progress.steps, steps = steps_to_report() - first;
    std::vector<StepSettings> settings;
    for (std::int64_t i = 0; i < steps; ++i) settings.push_back(settings_of(checkpoint_.step + i));
    const auto done = static_cast<std::size_t>(first * recipe_.batch_size);
    device_->begin(batches_.images_of(checkpoint_.epoch + 1).subspan(done), settings);
    auto end = take_results(0);
    for (std::int64_t begun = 0; !end && !must_suspend_ && begun < steps;) {
      device_->step();
      if (++begun % kLookEvery == 0) end = take_results(kLookEvery);
    }
    // Draws the next epoch's images while the last steps run.
    const bool ends_epoch = next_early() == nullptr;
    if (!end && !must_suspend_ && ends_epoch && checkpoint_.epoch + 1 < recipe_.epochs)
      batches_.images_of(checkpoint_.epoch + 2);
    return end ? end : take_results(0);
  }

  // Takes the results of finished steps on the device; returns a value if the candidate failed.
  // Their sums carry the leader's request to suspend.
  std::optional<Evaluation> take_results(std::size_t in_flight) {
    std::vector<BatchResult> results = device_->results(in_flight);
    std::vector<double> sums = {wants_suspension() ? 1.0 : 0.0};
    for (BatchResult& result : results) {
      disturb(result);
      sums.insert(sums.end(), {result.loss, static_cast<double>(result.correct)});
    }
    group_.sum(std::span(sums));
    must_suspend_ = must_suspend_ || sums[0] != 0;
    for (std::size_t i = 1; i < sums.size(); i += 2) {
      if (!std::isfinite(sums[i])) return diverged("training", sums[i], checkpoint_.step);
      checkpoint_.progress.loss += sums[i];
      checkpoint_.progress.correct += static_cast<std::int64_t>(sums[i + 1]);
      ++checkpoint_.progress.steps;
      ++checkpoint_.step;
      raise_progress();
    }
    return std::nullopt;
  }

  StepSettings settings_of(std::int64_t step) const {
    return {learning_rate(recipe_, step, batches_.steps_per_epoch()), step,
            hash_combine(job_.seed, kDropoutStream)};
  }

  // Runs the next step; returns this rank's share of its result.
  BatchResult train_batch() {
    const StepSettings settings = settings_of(checkpoint_.step);
    BatchResult share;
    for (const Shard& shard : executable_.micro_batches()) {
      feed_->next(executable_.images(), executable_.targets());
      const BatchResult result = executable_.accumulate(settings, shard);
      share.loss += result.loss;
      share.correct += result.correct;
    }
    executable_.update(settings);
    disturb(share);
    return share;
  }

  void send(const BatchResult& share) {
    in_flight_.send(share, wants_suspension(), checkpoint_.step);
  }

  // Receives the oldest sum in flight; returns a value if the candidate failed in that step.
  std::optional<Evaluation> receive() {
    const StepSums::Sum sum = in_flight_.receive();
    if (!std::isfinite(sum.loss)) return diverged("training", sum.loss, sum.step);
    checkpoint_.progress.loss += sum.loss;
    checkpoint_.progress.correct += sum.correct;
    must_suspend_ = must_suspend_ || sum.suspends;
    return std::nullopt;
  }

  bool wants_suspension() const { return is_leader() && control_.suspend; }

  void record(const Score& validation) {
    std::vector<Metric> metrics;
    {
      const ScopedTimer timer(checkpoint_.progress.train_s);
      for (std::string_view name : row_of(data_.info.task.kind).metrics) {
        if (validation.images > 0 || !name.starts_with("val_"))
          metrics.push_back({std::string(name), value_of(name, validation)});
      }
    }
    metrics.insert(metrics.end(), measured_.begin(), measured_.end());
    EpochReport report{.epoch = checkpoint_.epoch,
                       .metrics = std::move(metrics),
                       .train_s = std::exchange(checkpoint_.progress.train_s, 0),
                       .step = checkpoint_.step};
    if (const EarlyReport* early = next_early()) {
      report.part = early->part;
      report.work = static_cast<double>(job_.candidate.cost.flops) * trained_images();
    } else {
      checkpoint_.progress = {};
      report.epoch = ++checkpoint_.epoch;
      report.work = epoch_work(job_.candidate, data_.info) * checkpoint_.epoch;
    }
    checkpoint_.history.push_back(std::move(report));
    reports_.rank_newest();
  }

  double value_of(std::string_view metric, const Score& validation) {
    const EpochProgress& progress = checkpoint_.progress;
    if (metric == "val_accuracy") return validation.accuracy;
    if (metric == "val_loss") return validation.loss;
    if (metric == "train_loss") return progress.loss / static_cast<double>(progress.steps);
    if (metric == "train_accuracy")
      return static_cast<double>(progress.correct) /
             (trained_images() * predictions_per_image(data_.info.task));
    return metrics_.value_of(metric);
  }

  // Returns the number of images trained in this epoch.
  double trained_images() const {
    return static_cast<double>(checkpoint_.progress.steps) *
           static_cast<double>(recipe_.batch_size);
  }

  // Damages a result or throws, for tests (fault site).
  static void disturb(BatchResult& result) {
    const Fault trouble = fault("train.step");
    if (trouble == Fault::kThrow) throw std::runtime_error("DETOL_FAULT: a step that throws");
    if (trouble == Fault::kNan) result.loss = std::numeric_limits<double>::quiet_NaN();
  }

  Evaluation diverged(std::string_view which, double loss, std::int64_t step) const {
    return {Evaluation::End::kFailed, Cause::kDiverged,
            fmt::format("the {} loss is {} in epoch {}, step {} (lr {:g})", which, loss,
                        checkpoint_.epoch + 1, step, recipe_.lr)};
  }

  void raise_progress() { control_.progress.fetch_add(1, std::memory_order_relaxed); }

  const Job& job_;
  const Recipe& recipe_;
  const Dataset& data_;
  Executable& executable_;
  Group& group_;
  Control& control_;
  const std::size_t lag_;  // steps that one rank may be ahead of another
  Batches batches_;
  DeviceSteps* device_ = nullptr;  // null: batches come from the feed
  std::optional<Feed> feed_;
  const Normaliser normaliser_;
  Metrics metrics_;
  const int batches_ahead_;
  std::vector<Metric> measured_;
  const std::vector<EarlyReport> early_;  // ascending
  StepSums in_flight_;
  bool must_suspend_ = false;  // as received from the leader
  Checkpoint checkpoint_;      // the next checkpoint, with the state of the last
  std::string start_;          // the leader's checkpoint, to be shared
  const bool ranks_epochs_;
  CheckpointedReports reports_;
};

}  // namespace

Result<Evaluation> train(const TrainingContext& context, const Reporter& report) {
  std::optional<Training> training;
  const EarlyOutcome made = guarded(context.job, [&]() -> EarlyOutcome {
    training.emplace(context, report);
    return std::nullopt;
  });
  DETOL_ASSIGN(auto end, agree(made, context.group));
  if (!end) {
    DETOL_ASSIGN(end, training->start(hash_of(context.job, context.data, context.backend)));
  }
  if (end) return *end;
  return training->run();
}

}  // namespace detol::inline trainer
