#include "scheduler/processes/worker.h"

#include <exception>
#include <new>
#include <optional>
#include <span>

#include "core/fault.h"
#include "core/log.h"
#include "core/table.h"
#include "scheduler/processes/master_link.h"
#include "trainer/backends.h"

namespace detol::inline scheduler {
namespace {

using Trouble = message::Ended::Trouble;

// The number of batches that are prepared ahead. Where every core trains, this costs nothing
// (ahead_full of `detol bench trainer`: 1.000); where one is idle, small networks train faster
// (ahead_spare).
constexpr int kBatchesAhead = 2;

struct TrainResult {
  Evaluation evaluation;
  Trouble trouble = Trouble::kNone;
  bool was_thrown = false;  // an exception of the trainer, perhaps on this rank alone
};

TrainResult broken(std::string reason) {
  return {{Evaluation::End::kFailed, Cause::kCrashed, std::move(reason)}, Trouble::kCrash, true};
}

// Returns the parent whose weights the trial begins with; it has been decoded before.
std::optional<Parent> parent_of(const message::Train& order, const StudyConfig& config,
                                const Task& task) {
  const auto genome = config.space.genome(order.parent_params);
  if (!genome) return std::nullopt;
  auto candidate = config.candidate(*genome, task);
  if (!candidate) return std::nullopt;
  return Parent{order.parent, order.parent_epochs, std::move(candidate->network),
                candidate->arch_hash};
}

TrainResult train(const message::Train& order, const StudyConfig& config, const Task& task,
                  Evaluator& evaluator, MasterLink* link) try {
  fault_or_throw("worker.order");
  const auto genome = config.space.genome(order.params);
  if (!genome) return broken(genome.error().message);
  auto candidate = config.candidate(*genome, task);
  if (!candidate)
    return {{Evaluation::End::kFailed, candidate.error().cause, candidate.error().reason}};
  Job job{.trial = order.trial,
          .attempt = order.attempt,
          .seed = order.seed,
          .candidate = std::move(*candidate),
          .genome = *genome,
          .folder = order.folder,
          .acknowledged = order.acknowledged,
          .micro_batches = order.micro_batches};
  if (!order.parent_params.empty()) job.parent = parent_of(order, config, task);
  const auto report = [&](const EpochReport& epoch, bool more) {
    if (!more) fault_or_throw("worker.report");
    if (link == nullptr) return Verdict::kContinue;  // rank 0's verdict counts
    return link->report(epoch, more);
  };
  Control unused;
  const auto evaluation =
      evaluator.evaluate(job, report, link == nullptr ? unused : link->control());
  if (evaluation) return {*evaluation};
  const Error& error = evaluation.error();  // the same on every rank
  const bool is_full = error.code == ErrorCode::kStorage;
  return {.evaluation = {Evaluation::End::kFailed, Cause::kCrashed, error.message},
          .trouble = is_full ? Trouble::kStorage : Trouble::kCrash};
} catch (const std::bad_alloc&) {
  return {{Evaluation::End::kFailed, Cause::kOutOfMemory, "an allocation failed"},
          Trouble::kNone,
          true};
} catch (const std::exception& error) {
  return broken(error.what());
}

// Returns the leader's message on every rank; nullopt if it has none and the group is to end.
template <typename M>
std::optional<M> shared(Group& group, const std::optional<M>& own) {
  if (group.size() == 1) return own;
  const std::string bytes = group.share(own ? encode(*own) : std::string());
  if (bytes.empty()) return std::nullopt;
  return std::get<M>(*decode(bytes));
}

void wait_for_all(Group& group) {
  double here = 1;
  group.sum(std::span(&here, 1));
}

// Trains what the master sends. If the supervisor replaces this process when it ends, an exception
// of the trainer ends it: the exception may have left a device that no longer answers, for example.
Result<void> serve(MasterLink* link, Group& group, const TestHooks& hooks,
                   const MasterAddress& own) {
  const auto setup = shared(group, link == nullptr ? std::nullopt : link->join());
  if (!setup) return {};
  DETOL_ASSIGN(const StudyConfig config, load_study_config(setup->config, "study"));
  DETOL_ASSIGN(const auto evaluator,
               hooks.make_evaluator(config, {.backend = setup->backend,
                                             .group = &group,
                                             .program_ranks = own.ranks,
                                             .program_threads = own.program_threads,
                                             .batches_ahead = kBatchesAhead,
                                             .choices = link,
                                             .writes_preprocessing = true}));
  const BackendRow* backend = find_row(backends(), setup->backend);
  const bool has_device = backend != nullptr && backend->why_not != nullptr;
  wait_for_all(group);
  fault_or_throw("worker.ready");
  if (link != nullptr) link->set_ready();
  for (;;) {
    const auto order = shared(group, link == nullptr ? std::nullopt : link->next());
    if (!order) return {};
    const TrainResult result = train(*order, config, setup->task, *evaluator, link);
    const bool is_broken = result.trouble != Trouble::kNone;
    if (is_broken) log_warning("trial {}: {}", order->trial, result.evaluation.reason);
    const bool is_a_thrown_one = result.was_thrown && (group.size() > 1 || own.is_replaced);
    const bool may_be_the_devices = has_device && result.trouble == Trouble::kCrash;
    if (is_broken && (is_a_thrown_one || may_be_the_devices))
      return fail(ErrorCode::kInternal, result.evaluation.reason);
    fault_or_throw("worker.end");
    if (link != nullptr) link->end(result.evaluation, result.trouble);
    const bool is_out_of_step = result.was_thrown && group.size() > 1;
    if (is_out_of_step) return fail(ErrorCode::kInternal, result.evaluation.reason);
  }
}

}  // namespace

Result<void> run_worker(const std::optional<MasterAddress>& master, Group& group,
                        const TestHooks& hooks) try {
  if (!master) return serve(nullptr, group, hooks, {.endpoint = {}, .is_replaced = false});
  DETOL_ASSIGN(const auto link, MasterLink::open(*master));
  return serve(link.get(), group, hooks, *master);
} catch (const std::exception& error) {
  return fail(ErrorCode::kInternal, error.what());
}

}  // namespace detol::inline scheduler
