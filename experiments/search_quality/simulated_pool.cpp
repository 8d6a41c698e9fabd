#include "experiments/search_quality/simulated_pool.h"

#include <algorithm>

namespace detol {
namespace {

constexpr double kWorkPerSecond = 1e9;  // of a simulated worker; a trial without work takes 1 s

}  // namespace

std::vector<Slot> SimulatedPool::free() {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i]) slots.push_back({static_cast<int>(i), "simulated", 1});
  }
  return slots;
}

void SimulatedPool::start(int worker, const message::Train& train) {
  Training training{.trial = train.trial, .due_s = clock_.now + 1, .result = evaluated(train)};
  const auto* report = std::get_if<message::Report>(&training.result);
  if (report != nullptr && report->report.work > 0)
    training.due_s = clock_.now + report->report.work / kWorkPerSecond;
  workers_[static_cast<std::size_t>(worker)] = std::move(training);
}

PoolEvent SimulatedPool::evaluated(const message::Train& train) {
  const auto genome = config_.space.genome(train.params);
  if (!genome) return Unusable{genome.error()};
  Job job;
  job.trial = train.trial;
  job.seed = train.seed;
  job.genome = *genome;
  Control control;
  std::optional<EpochReport> reported;
  const auto evaluation = evaluator_.evaluate(
      job,
      [&](const EpochReport& report) {
        reported = report;
        return Verdict::kStop;
      },
      control);
  if (!evaluation) return Unusable{evaluation.error()};
  if (reported) return message::Report{0, train.trial, train.attempt, *reported};
  return message::Ended{0, train.trial, train.attempt, message::Ended::Trouble::kNone, *evaluation};
}

void SimulatedPool::acknowledge(const message::ReportAck& answer) {
  release(answer.trial);
}

void SimulatedPool::acknowledge(const message::EndAck& ack) {
  release(ack.trial);
}

void SimulatedPool::release(TrialId trial) {
  for (auto& worker : workers_) {
    if (worker && worker->trial == trial) worker.reset();
  }
}

std::vector<PoolEvent> SimulatedPool::wait(double /*at_most_s*/) {
  std::optional<Training>* next = nullptr;
  for (auto& worker : workers_) {
    if (!worker || worker->has_said) continue;
    if (next == nullptr || worker->due_s < (*next)->due_s) next = &worker;
  }
  if (next == nullptr) return {};
  clock_.now = std::max(clock_.now, (*next)->due_s);
  (*next)->has_said = true;
  return {(*next)->result};
}

}  // namespace detol
