#include "scheduler/run/shared_pool.h"

#include <iterator>
#include <utility>

namespace detol::inline scheduler {
namespace {

template <typename T>
std::vector<T> joined(std::vector<T> one, std::vector<T> other) {
  one.insert(one.end(), std::make_move_iterator(other.begin()),
             std::make_move_iterator(other.end()));
  return one;
}

}  // namespace

std::vector<Claim> SharedPool::claims() {
  return joined(workers_.claims(), callers_.claims());
}

std::vector<Slot> SharedPool::free() {
  return joined(workers_.free(), callers_.free());
}

void SharedPool::start(int worker, const message::Train& train) {
  worker >= PendingAsks::kFirstSlot ? callers_.start(worker, train) : workers_.start(worker, train);
}

void SharedPool::acknowledge(const message::ReportAck& ack) {
  workers_.acknowledge(ack);
  callers_.acknowledge(ack);
}

void SharedPool::acknowledge(const message::EndAck& ack) {
  workers_.acknowledge(ack);
  callers_.acknowledge(ack);
}

void SharedPool::drop(TrialId trial) {
  workers_.drop(trial);
  callers_.drop(trial);
}

void SharedPool::suspend() {
  workers_.suspend();
  callers_.suspend();
}

std::vector<PoolEvent> SharedPool::wait(double at_most_s) {
  auto events = workers_.wait(callers_.has_calls() ? 0 : at_most_s);
  return joined(std::move(events), callers_.wait(0));
}

int SharedPool::workers() {
  return workers_.workers() + (callers_.is_idle() ? 0 : callers_.workers());
}

// A caller has whatever memory its trials need.
double SharedPool::most_memory() {
  return callers_.is_idle() ? workers_.most_memory() : callers_.most_memory();
}

}  // namespace detol::inline scheduler
