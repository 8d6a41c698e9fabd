#pragma once

// StepSums sums the results of steps over the ranks, the oldest first. They carry the leader's
// request to suspend. Private to this folder.

#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "trainer/backends/backend.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

class StepSums {
 public:
  struct Sum {
    double loss = 0;
    std::int64_t correct = 0;
    bool suspends = false;
    std::int64_t step = 0;
  };

  explicit StepSums(Group& group) : group_(group) {}

  std::size_t size() const { return in_flight_.size(); }

  // Begins the sum of this rank's share of a step.
  void send(const BatchResult& share, bool suspends, std::int64_t step) {
    InFlight& one = in_flight_.emplace_back();
    one.values = {share.loss, static_cast<double>(share.correct), suspends ? 1.0 : 0.0};
    one.step = step;
    one.ticket = group_.start_sum(std::span(one.values));
  }

  // Waits for the oldest sum and returns it. REQUIRES: size() > 0.
  Sum receive() {
    group_.finish(in_flight_.front().ticket);
    const InFlight one = in_flight_.front();
    in_flight_.pop_front();
    const auto [loss, correct, suspends] = one.values;
    return {loss, static_cast<std::int64_t>(correct), suspends != 0, one.step};
  }

 private:
  struct InFlight {
    std::array<double, 3> values{};
    std::int64_t step = 0;
    Group::Ticket ticket = 0;
  };
  Group& group_;
  std::deque<InFlight> in_flight_;  // a deque: addresses of values must stay valid
};

}  // namespace detol::inline trainer
