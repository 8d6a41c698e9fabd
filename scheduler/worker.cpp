#include "scheduler/worker.h"

#include <exception>
#include <new>

#include "core/fault.h"
#include "core/log.h"
#include "scheduler/master_link.h"

namespace detol {
namespace {

struct Ending {
  Evaluation evaluation;
  bool broken = false;  // the infrastructure failed
};

Ending broken(std::string reason) {
  return {{Evaluation::End::kFailed, Cause::kCrashed, std::move(reason)}, true};
}

Ending train(const message::Train& order, const StudyConfig& config, const Task& task,
             Evaluator& evaluator, MasterLink& link) try {
  fault_or_throw("worker.order");
  const auto genome = config.space.genome(order.params);
  if (!genome) return broken(genome.error().message);
  auto candidate = config.candidate(*genome, task);
  if (!candidate)
    return {{Evaluation::End::kFailed, candidate.error().cause, candidate.error().reason}};
  const Job job{.trial = order.trial,
                .attempt = order.attempt,
                .seed = order.seed,
                .candidate = std::move(*candidate),
                .genome = *genome,
                .folder = order.folder,
                .acknowledged = order.acknowledged,
                .micro_batches = order.micro_batches};
  const auto evaluation = evaluator.evaluate(
      job,
      [&](const EpochReport& report) {
        fault_or_throw("worker.report");
        return link.report(report);
      },
      link.control());
  if (!evaluation) return broken(evaluation.error().message);
  return {*evaluation};
} catch (const std::bad_alloc&) {
  return {{Evaluation::End::kFailed, Cause::kOutOfMemory, "an allocation failed"}};
} catch (const std::exception& error) {
  return broken(error.what());
}

}  // namespace

Result<void> run_worker(const std::string& endpoint, int number, const Seams& seams) {
  DETOL_ASSIGN(const auto link, MasterLink::open(endpoint, number));
  const message::Welcome welcome = link->join();
  DETOL_ASSIGN(const StudyConfig config, load_study_config(welcome.config, "study"));
  DETOL_ASSIGN(const auto evaluator, seams.make_evaluator(config, {.backend = welcome.backend}));
  fault_or_throw("worker.ready");
  link->set_ready();
  for (;;) {
    const message::Train order = link->next();
    const Ending ending = train(order, config, welcome.task, *evaluator, *link);
    if (ending.broken) log_warning("trial {}: {}", order.trial, ending.evaluation.reason);
    fault_or_throw("worker.end");
    link->end(ending.evaluation, ending.broken);
  }
}

}  // namespace detol
