#include "scheduler/simulation/simulated_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace detol::inline scheduler {

SimulatedPool::SimulatedPool(const SimulatedPoolSettings& settings, TrainingModel& model,
                             VirtualClock& clock)
    : settings_(settings),
      model_(model),
      clock_(clock),
      workers_(static_cast<std::size_t>(settings.workers)),
      live_(settings.workers),
      counted_s_(clock.now) {
  for (int i = 0; i < settings.workers; ++i) free_.insert(free_.end(), i);
}

std::vector<Slot> SimulatedPool::free() {
  std::vector<Slot> slots;
  for (const int worker : free_) slots.push_back(slot_of(worker));
  return slots;
}

std::optional<Slot> SimulatedPool::slot_after(TrialId trial, int attempt) {
  int number = 0;
  if (training(trial, attempt, number) == nullptr) return std::nullopt;
  return slot_of(number);
}

Slot SimulatedPool::slot_of(int worker) const {
  return {worker, fmt::format("simulated/{}", worker), settings_.group_size, memory_of(worker)};
}

double SimulatedPool::memory_of(int worker) const {
  const auto index = static_cast<std::size_t>(worker);
  return index < settings_.memory.size() ? settings_.memory[index]
                                         : std::numeric_limits<double>::infinity();
}

double SimulatedPool::most_memory() {
  const bool are_all_known = settings_.memory.size() >= workers_.size();
  return are_all_known ? std::ranges::max(settings_.memory) : memory_of(settings_.workers - 1);
}

void SimulatedPool::start(int number, const message::Train& train) {
  free_.erase(number);
  worker_of_[train.trial] = number;
  Worker& worker = at(number);
  worker.training = model_.begin(train);
  worker.trial = train.trial;
  worker.attempt = train.attempt;
  worker.epochs = train.acknowledged;
  worker.verdict = Verdict::kContinue;
  worker.interval_s = worker.training->seconds_after(worker.epochs);
  const auto left = left_s_.find(train.trial);
  const double seconds = left == left_s_.end() ? worker.interval_s : left->second;
  if (left != left_s_.end()) left_s_.erase(left);
  train_on(number, seconds);
}

void SimulatedPool::acknowledge(const message::ReportAck& ack) {
  int number = 0;
  Worker* worker = training(ack.trial, ack.attempt, number);
  if (worker == nullptr || worker->expected != 0) return;
  if (ack.verdict == Verdict::kStop) return release(number);
  worker->verdict = ack.verdict;
  if (ack.verdict == Verdict::kSuspend) {
    worker->interval_s = 0;
    return expect(number, clock_.now);
  }
  worker->epochs = ack.epochs;
  worker->interval_s = worker->training->seconds_after(ack.epochs);
  train_on(number, worker->interval_s);
}

void SimulatedPool::acknowledge(const message::EndAck& ack) {
  int number = 0;
  if (training(ack.trial, ack.attempt, number) != nullptr) release(number);
}

void SimulatedPool::drop(TrialId trial) {
  const auto found = worker_of_.find(trial);
  if (found == worker_of_.end()) return;
  const int number = found->second;
  stop_training(at(number));
  release(number);
}

void SimulatedPool::suspend() {
  for (const auto& [trial, number] : worker_of_) {
    Worker& worker = at(number);
    if (worker.expected == 0 || worker.verdict != Verdict::kContinue) continue;
    left_s_[trial] = std::max(0.0, worker.due_s - clock_.now);
    stop_training(worker);
    worker.verdict = Verdict::kSuspend;
    expect(number, clock_.now);
  }
}

void SimulatedPool::retire() {
  count_live(-static_cast<int>(free_.size()));
  retired_.merge(free_);
}

void SimulatedPool::hire() {
  count_live(static_cast<int>(retired_.size()));
  free_.merge(retired_);
}

std::vector<PoolEvent> SimulatedPool::wait(double at_most_s) {
  const double until_s = clock_.now + std::min(1.0, at_most_s);
  std::vector<PoolEvent> events;
  if (!drop_outdated() || queue_.top().due_s > until_s) {
    clock_.now = until_s;
    return events;
  }
  clock_.now = std::max(clock_.now, queue_.top().due_s);
  while (events.size() < settings_.most_events && drop_outdated() &&
         queue_.top().due_s <= clock_.now) {
    const int worker = queue_.top().worker;
    queue_.pop();
    if (auto event = happen(worker)) events.push_back(*std::move(event));
  }
  return events;
}

double SimulatedPool::held_s() {
  count_live(0);
  return held_s_ * settings_.group_size;
}

void SimulatedPool::train_on(int worker, double seconds) {
  at(worker).begun_s = clock_.now;
  expect(worker, clock_.now + seconds);
}

void SimulatedPool::expect(int worker, double due_s) {
  at(worker).due_s = due_s;
  at(worker).expected = ++numbers_;
  queue_.push({due_s, worker, numbers_});
}

SimulatedPool::Worker* SimulatedPool::training(TrialId trial, int attempt, int& number) {
  const auto found = worker_of_.find(trial);
  if (found == worker_of_.end() || at(found->second).attempt != attempt) return nullptr;
  number = found->second;
  return &at(number);
}

// Counts what the worker has trained since it began its interval.
void SimulatedPool::stop_training(Worker& worker) {
  if (worker.expected != 0 && worker.verdict == Verdict::kContinue)
    busy_s_ += std::min(clock_.now, worker.due_s) - worker.begun_s;
  worker.expected = 0;
}

void SimulatedPool::release(int number) {
  worker_of_.erase(at(number).trial);
  at(number) = {};
  free_.insert(number);
}

void SimulatedPool::lose(int number) {
  worker_of_.erase(at(number).trial);
  at(number) = {};
  if (settings_.restart_s <= 0) {
    free_.insert(number);
    return;
  }
  count_live(-1);
  expect(number, clock_.now + settings_.restart_s);
}

// Returns what a worker says that is due.
std::optional<PoolEvent> SimulatedPool::happen(int number) {
  Worker& worker = at(number);
  if (worker.training == nullptr) {  // its restart is complete
    worker.expected = 0;
    count_live(+1);
    free_.insert(number);
    return std::nullopt;
  }
  stop_training(worker);
  if (worker.verdict != Verdict::kContinue) {
    const auto left = left_s_.find(worker.trial);
    return message::Ended{
        .worker = number,
        .trial = worker.trial,
        .attempt = worker.attempt,
        .evaluation = {
            .end = Evaluation::End::kSuspended,
            .reason = {},
            .unreported_s = left == left_s_.end() ? 0 : worker.interval_s - left->second}};
  }
  auto event = worker.training->event_after(worker.epochs, worker.interval_s);
  if (event && std::holds_alternative<Lost>(*event)) lose(number);
  return event;
}

void SimulatedPool::count_live(int change) {
  held_s_ += live_ * (clock_.now - std::exchange(counted_s_, clock_.now));
  live_ += change;
}

// Removes what is no longer expected from the front of the queue; returns false if it is empty.
bool SimulatedPool::drop_outdated() {
  while (!queue_.empty() && at(queue_.top().worker).expected != queue_.top().number) queue_.pop();
  return !queue_.empty();
}

}  // namespace detol::inline scheduler
