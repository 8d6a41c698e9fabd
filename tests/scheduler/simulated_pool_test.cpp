#include "scheduler/simulation/simulated_pool.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

// Every epoch takes `epoch_s`; a trial of `lost` is lost at the end of its first.
class Clockwork final : public TrainingModel {
 public:
  std::unique_ptr<SimulatedTraining> begin(const message::Train& train) override {
    class Training final : public SimulatedTraining {
     public:
      Training(const Clockwork& model, const message::Train& train)
          : model_(model), trial_(train.trial), attempt_(train.attempt) {}
      double seconds_after(double) override { return model_.epoch_s; }
      std::optional<PoolEvent> event_after(double epochs, double train_s) override {
        if (trial_ == model_.lost) return Lost{trial_, attempt_, {RequeueCause::kLost, "gone"}};
        return message::Report{
            0,
            trial_,
            attempt_,
            {.epoch = static_cast<int>(epochs) + 1, .metrics = {}, .train_s = train_s}};
      }

     private:
      const Clockwork& model_;
      const TrialId trial_;
      const int attempt_;
    };
    return std::make_unique<Training>(*this, train);
  }

  double epoch_s = 10;
  std::optional<TrialId> lost;
};

class SimulatedPoolTest : public testing::Test {
 protected:
  // Waits for events, at most ten minutes.
  std::vector<PoolEvent> next_events(SimulatedPool& pool) {
    for (int i = 0; i < 600; ++i) {
      if (auto events = pool.wait(1); !events.empty()) return events;
    }
    return {};
  }
  static message::Train train(TrialId trial, int attempt = 1) {
    return {.trial = trial, .attempt = attempt, .folder = "", .params = {}};
  }

  VirtualClock clock;
  Clockwork model;
};

TEST_F(SimulatedPoolTest, EventsOfEqualTimesComeAtOnceInTheOrderOfTheWorkers) {
  SimulatedPool pool({.workers = 3}, model, clock);
  for (const int worker : {2, 0, 1}) pool.start(worker, train(static_cast<TrialId>(worker)));
  const auto events = next_events(pool);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(clock.now, 10);
  for (TrialId trial = 0; trial < 3; ++trial)
    EXPECT_EQ(std::get<message::Report>(events[trial]).trial, trial);
}

TEST_F(SimulatedPoolTest, AVerdictThatStopsATrialFreesItsWorker) {
  SimulatedPool pool({.workers = 1}, model, clock);
  pool.start(0, train(0));
  next_events(pool);
  EXPECT_TRUE(pool.free().empty());
  pool.acknowledge(message::ReportAck{0, 1, 1, Verdict::kStop});
  EXPECT_EQ(pool.free().size(), 1u);
  EXPECT_EQ(clock.now, 10);
}

TEST_F(SimulatedPoolTest, AnAnswerToAnOlderAttemptChangesNothing) {
  SimulatedPool pool({.workers = 1}, model, clock);
  pool.start(0, train(0, 2));
  pool.acknowledge(message::ReportAck{0, 1, 1, Verdict::kStop});
  EXPECT_EQ(std::get<message::Report>(next_events(pool).at(0)).attempt, 2);
}

TEST_F(SimulatedPoolTest, ASuspendedTrialTrainsTheRestOfItsEpochLater) {
  SimulatedPool pool({.workers = 1}, model, clock);
  pool.start(0, train(0));
  while (clock.now < 4) pool.wait(1);
  pool.suspend();
  const auto ended = std::get<message::Ended>(next_events(pool).at(0));
  EXPECT_EQ(ended.evaluation.end, Evaluation::End::kSuspended);
  EXPECT_EQ(ended.evaluation.unreported_s, 4);
  pool.acknowledge(message::EndAck{0, 1});
  pool.start(0, train(0, 2));
  next_events(pool);
  EXPECT_EQ(clock.now, 10);
  EXPECT_EQ(pool.busy_s(), 10);
}

TEST_F(SimulatedPoolTest, AnotherWorkerReplacesALostOneAndIsHeldFromThenOn) {
  model.lost = 0;
  SimulatedPool pool({.workers = 1, .group_size = 2, .restart_s = 30}, model, clock);
  pool.start(0, train(0));
  EXPECT_TRUE(std::holds_alternative<Lost>(next_events(pool).at(0)));
  EXPECT_TRUE(pool.free().empty());
  EXPECT_EQ(pool.devices(), 0);
  while (clock.now < 45) pool.wait(1);
  EXPECT_EQ(pool.free().size(), 1u);
  EXPECT_EQ(pool.held_s(), 2 * (10 + 5));
  EXPECT_EQ(pool.busy_s(), 2 * 10);
}

TEST_F(SimulatedPoolTest, WorkersThatAreRetiredAreHeldNoMore) {
  SimulatedPool pool({.workers = 4}, model, clock);
  pool.start(0, train(0));
  while (clock.now < 5) pool.wait(1);
  pool.retire();
  next_events(pool);
  EXPECT_EQ(pool.held_s(), 4 * 5 + 1 * 5);
  EXPECT_EQ(pool.devices(), 1);
  EXPECT_TRUE(pool.free().empty());
}

}  // namespace
}  // namespace detol
