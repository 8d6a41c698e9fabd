// When a run of a study is over and how it ended, what need not be trained, where there is memory,
// and what leaves once it is durable.

#include "scheduler/ending.h"

#include "scheduler/trial_memory.h"
#include "tests/scheduler/driver_objects.h"

namespace detol {
namespace {

using testing_support::DriverObjects;

using EqualTrial = DriverObjects;

TEST_F(EqualTrial, WaitsForTheFirstThatIsOpen) {
  const EqualTrials equals(parts().config, state());
  begin(0, 0.25);
  ask(1, 0.25);
  ask(2, 0.75);
  ask(3, 0.25);
  EXPECT_FALSE(equals.waits_for_equal(0));
  EXPECT_TRUE(equals.waits_for_equal(1));
  EXPECT_FALSE(equals.waits_for_equal(2));
  EXPECT_TRUE(equals.waits_for_equal(3));
  fail_trial(0, Cause::kCrashed);
  EXPECT_FALSE(equals.waits_for_equal(1)) << "it is the first now";
  EXPECT_TRUE(equals.waits_for_equal(3));
}

TEST_F(EqualTrial, OfACallerOrThatWasStartedWaitsForNone) {
  const EqualTrials equals(parts().config, state());
  begin(0, 0.25);
  ask(1, 0.25, std::string(kCaller));
  EXPECT_FALSE(equals.waits_for_equal(1));
  begin(2, 0.25);
  EXPECT_FALSE(equals.waits_for_equal(2));
}

TEST_F(EqualTrial, IsMeasuredAgainAsOftenAsTheStudySays) {
  study.config.repeats = 1;
  const EqualTrials equals(parts().config, state());
  begin(0, 0.25);
  ask(1, 0.25);
  const std::string identity = state().find(0)->identity;
  EXPECT_TRUE(equals.may_repeat(identity));
  EXPECT_FALSE(equals.waits_for_equal(1));
  start(1);
  EXPECT_FALSE(equals.may_repeat(identity)) << "the first and one repeat";
  EXPECT_TRUE(equals.may_repeat("of no trial"));
  study.config.repeats = 0;
  EXPECT_FALSE(equals.may_repeat("of no trial"));
}

TEST_F(EqualTrial, LeavesNothingToAskForOnceTheSpaceIsKnown) {
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.5}).build().value();
  const EqualTrials equals(parts().config, state());
  EXPECT_EQ(equals.candidates(), 3);
  for (TrialId id = 0; id < 3; ++id) {
    EXPECT_FALSE(equals.is_space_known());
    begin(id, 0.4 * static_cast<double>(id));
    apply(report(id, 1, 10, 1));
    end(id);
  }
  EXPECT_TRUE(equals.is_space_known());
  EXPECT_TRUE(equals.is_nothing_new());
  study.config.repeats = 1;
  EXPECT_FALSE(equals.is_space_known()) << "each may be measured again";
}

TEST_F(EqualTrial, EndsTheProposalsAfterThirtyTwoInARow) {
  EqualTrials equals(parts().config, state());
  for (int i = 0; i < 31; ++i) equals.found_equal();
  EXPECT_FALSE(equals.is_nothing_new());
  equals.found_equal();
  EXPECT_TRUE(equals.is_nothing_new());
  equals.found_new();
  EXPECT_FALSE(equals.is_nothing_new());
}

class MemoryOf : public DriverObjects {
 protected:
  static TrialMemory::Slots slots(const std::vector<double>& bytes) {
    TrialMemory::Slots all;
    for (const double memory : bytes)
      all.push_back({.worker = static_cast<int>(all.size()), .name = "w", .memory = memory});
    return all;
  }
  Candidate candidate() { return study.decode(genome(0.5)).value(); }
};

TEST_F(MemoryOf, ACandidateIsRefusedThatNoWorkerHasHad) {
  study.pool.memory = {10, 20};
  int foreseen = 0;
  study.foreseen_bytes = [&](const Candidate&) { return ++foreseen, 20.0; };
  TrialMemory memory(parts(), state());
  EXPECT_FALSE(memory.refusal_of(0, candidate()));
  EXPECT_FALSE(memory.refusal_of(0, candidate()));
  EXPECT_EQ(foreseen, 1) << "once for a trial";
  study.foreseen_bytes = [](const Candidate&) { return 21.0; };
  const auto refused = memory.refusal_of(1, candidate());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->cause, Cause::kTooLarge);
  EXPECT_EQ(refused->reason, "21 bytes foreseen, and no worker has more than 20");
}

TEST_F(MemoryOf, ATrialIsTheLeastThatIsEnough) {
  study.pool.memory = {10};
  std::map<TrialId, double> bytes = {{0, 15}, {1, 5}, {2, 35}};
  TrialMemory memory(parts(), state());
  for (const auto& [trial, needs] : bytes) {
    study.foreseen_bytes = [needs = needs](const Candidate&) { return needs; };
    ask(trial);
    (void)memory.refusal_of(trial, candidate());
  }
  TrialMemory::Slots free = slots({30, 20, 10});
  EXPECT_EQ(memory.slot_for(0, free)->worker, 1);
  EXPECT_EQ(memory.slot_for(1, free)->worker, 2);
  EXPECT_EQ(memory.slot_for(2, free), free.end());
}

TEST_F(MemoryOf, ATrialOfAnEarlierMasterIsForeseenAgain) {
  study.foreseen_bytes = [](const Candidate&) { return 15.0; };
  TrialMemory memory(parts(), state());
  ask(0);
  TrialMemory::Slots free = slots({20, 10});
  EXPECT_EQ(memory.slot_for(0, free)->worker, 0);
  study.refuses = [](double) { return true; };
  TrialMemory other(parts(), state());
  EXPECT_EQ(other.slot_for(0, free)->worker, 1) << "what cannot be decoded needs none";
}

TEST_F(MemoryOf, AllWorkersIsSaidWhereTrialsWaitForMore) {
  TrialMemory memory(parts(), state());
  memory.waits();
  EXPECT_EQ(memory.why_all_wait({}), std::nullopt) << "a worker trains";
  EXPECT_EQ(memory.why_all_wait(slots({10})),
            "1 trial waits for a worker with more memory than any has now");
  memory.waits();
  EXPECT_EQ(memory.why_all_wait(slots({10})),
            "2 trials wait for a worker with more memory than any has now");
  memory.count_again();
  EXPECT_EQ(memory.waiting(), 0);
}

class OutboxOf : public DriverObjects, public Observer {
 protected:
  void happened(const Event& event, const StudyState&) override { seen_.push_back(event.index()); }
  std::vector<std::size_t> seen_;
};

TEST_F(OutboxOf, ATurnWritesAllAtOnceAndThenSends) {
  study.observers = {this};
  Outbox outbox(parts());
  EXPECT_EQ(study.pool.free().size(), 1u);
  event::Asked asked;
  asked.params = genome(0.5).assignments();
  outbox.add(asked);
  outbox.add(event::Started{.worker = "fake"});
  outbox.add(Fact{"kind", "key", "{}"});
  outbox.start(0, {.attempt = 1, .folder = {}, .params = asked.params});
  outbox.broadcast("shape", "gemm");
  outbox.answer({RunRequest::kStop});
  study.waiting_requests = {{RunRequest::kStop}};
  ASSERT_TRUE(outbox.write().value());
  ASSERT_EQ(study.ledger.transactions.size(), 1u);
  EXPECT_EQ(study.ledger.transactions[0].size(), 2u);
  EXPECT_EQ(study.ledger.known.size(), 1u);
  EXPECT_TRUE(study.pool.started.empty()) << "nothing has left";
  outbox.send(state());
  EXPECT_EQ(study.pool.started.size(), 1u);
  EXPECT_EQ(study.pool.heard.size(), 1u);
  EXPECT_TRUE(study.waiting_requests.empty());
  EXPECT_EQ(seen_,
            (std::vector<std::size_t>{Event(asked).index(), Event(event::Started()).index()}));
  ASSERT_TRUE(outbox.write().value());
  outbox.send(state());
  EXPECT_EQ(study.pool.started.size(), 1u) << "it leaves once";
  EXPECT_TRUE(study.ledger.transactions[1].empty());
  EXPECT_EQ(study.ledger.known.size(), 1u);
}

TEST_F(OutboxOf, ATurnWaitsForTheDiskWithAllThatItHas) {
  Outbox outbox(parts());
  outbox.add(event::Started{.worker = "fake"});
  study.ledger.full = 2;
  EXPECT_FALSE(outbox.write().value());
  EXPECT_TRUE(outbox.is_paused());
  outbox.add(event::Accounted{.wall_s = 1});
  outbox.remove_account();
  EXPECT_FALSE(outbox.write().value());
  outbox.add(event::Accounted{.wall_s = 2});
  EXPECT_TRUE(outbox.write().value());
  EXPECT_FALSE(outbox.is_paused());
  ASSERT_EQ(study.ledger.transactions.size(), 1u);
  ASSERT_EQ(study.ledger.transactions[0].size(), 2u) << "one account of the time";
  EXPECT_EQ(std::get<event::Accounted>(study.ledger.transactions[0][1]).wall_s, 2);
}

TEST_F(OutboxOf, AnIdleTurnIsDueEveryFiveSeconds) {
  Outbox outbox(parts());
  study.clock.now = 100;
  outbox.begin();
  study.clock.now = 104;
  EXPECT_FALSE(outbox.is_due());
  study.clock.now = 105;
  EXPECT_TRUE(outbox.is_due());
  ASSERT_TRUE(outbox.write().value());
  EXPECT_FALSE(outbox.is_due());
  outbox.add(event::Accounted{});
  EXPECT_TRUE(outbox.is_due());
}

class EndingOf : public DriverObjects {
 protected:
  Ending& ending() {
    if (!ending_) {
      running_.emplace(parts(), state());
      guard_.emplace(parts(), state(), *running_);
      guard_->used().begin();
      equals_.emplace(parts().config, state());
      outbox_.emplace(parts());
      ending_.emplace(parts(), state(), *running_, *guard_, *equals_, *outbox_);
    }
    return *ending_;
  }

 private:
  std::optional<RunningTrials> running_;
  std::optional<BudgetGuard> guard_;
  std::optional<EqualTrials> equals_;
  std::optional<Outbox> outbox_;
  std::optional<Ending> ending_;
};

TEST_F(EndingOf, ARunIsNotNearAsLongAsTrialsMayStart) {
  EXPECT_FALSE(ending().is_near());
  ending().look();
  EXPECT_FALSE(ending().is_closed());
  EXPECT_EQ(ending().cuts(), std::nullopt);
}

TEST_F(EndingOf, ARunIsTheTargetOnceAReportReachesIt) {
  study.target = parse_target("loss<=0.5").value();
  ending().learn({.metrics = {{"loss", 0.6}, {"other", 0.1}}});
  ending().look();
  EXPECT_FALSE(ending().is_closed());
  ending().learn({.metrics = {{"loss", 0.4}}});
  ending().learn({.metrics = {{"loss", 0.6}}});
  ending().look();
  EXPECT_TRUE(ending().is_closed());
  EXPECT_EQ(ending().cuts(), EndCause::kTarget);
  EXPECT_EQ(ending().result().value(), "the target loss<=0.5 is reached");
}

TEST_F(EndingOf, ARunKeepsItsFirstReason) {
  ending().close("first");
  ending().close("second");
  ending().close_for_budget();
  EXPECT_EQ(ending().why_none(), "first");
  EXPECT_EQ(ending().cuts(), std::nullopt);
}

TEST_F(EndingOf, ARunThatIsStoppedHasEightSecondsForItsWorkers) {
  begin(0);
  ending().stop();
  EXPECT_TRUE(ending().is_near());
  EXPECT_FALSE(ending().is_over()) << "a trial runs";
  study.clock.now = 8;
  EXPECT_TRUE(ending().is_over());
  const auto result = ending().result();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(result.error().message, "stopped; resume with `detol resume fake`");
  study.config.external.emplace();
  EXPECT_EQ(ending().why_none(), "stopped; ask again with `detol ask fake`");
}

TEST_F(EndingOf, ARunIsItsFailuresIfTheFirstTenAllFail) {
  for (TrialId id = 0; id < 9; ++id) {
    begin(id);
    fail_trial(id, Cause::kCrashed);
  }
  ending().look();
  EXPECT_FALSE(ending().is_closed());
  begin(9);
  fail_trial(9, Cause::kCrashed);
  ending().look();
  EXPECT_TRUE(ending().has_failed());
  EXPECT_EQ(ending().cuts(), EndCause::kFailures);
  const auto result = ending().result();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kFailures);
  EXPECT_NE(result.error().message.find("10 trials all failed, trial 9 as "), std::string::npos);
  EXPECT_NE(result.error().message.find("`detol resume fake --retry-failed`"), std::string::npos);
}

TEST_F(EndingOf, ARunWithOneSuccessSurvivesItsFailures) {
  begin(0);
  apply(report(0, 1, 10, 1));
  end(0);
  for (TrialId id = 1; id < 15; ++id) {
    begin(id);
    fail_trial(id, Cause::kDiverged);
  }
  ending().look();
  EXPECT_FALSE(ending().is_closed());
}

TEST_F(EndingOf, ARunByItsBudgetSaysWhatMoreOfItContinues) {
  study.budget = "10s";
  EXPECT_FALSE(ending().is_closed());
  begin(0);
  apply(report(0, 1, 10, 1));
  apply(event::Told{.state = TrialState::kPruned,
                    .reason = EndCause::kBudget,
                    .outcome = Measured{.values = {1.0}}});
  study.clock.now = 10;
  ending().look();
  EXPECT_EQ(ending().cuts(), EndCause::kBudget);
  EXPECT_EQ(ending().result().value(),
            "the budget is used up; more of it (`detol resume fake --budget +...`) continues 1 "
            "trial");
}

TEST_F(EndingOf, ARunWithoutTimeForAnEpochSaysThatSomeIsLeft) {
  study.budget = "10s";
  ending().close_for_budget();
  EXPECT_EQ(ending().why_none(), "the budget is used up but for less than an epoch");
}

TEST_F(EndingOf, ARunIsNearWhereNothingMoreIsProposed) {
  ending().set_exhausted(true);
  EXPECT_TRUE(ending().is_near());
  EXPECT_TRUE(ending().is_over());
  EXPECT_EQ(ending().result().value(), "the search has nothing more to propose");
  begin(0);
  EXPECT_FALSE(ending().is_over()) << "what runs is waited for";
}

TEST_F(EndingOf, ATrialIsDecidedOnAtEveryReportWhereATargetOrWorkMayEndIt) {
  study.config.pruner.name = "none";
  begin(0);
  const double without = ending().undecided(0);
  EXPECT_GT(without, 0);
  parts().target = parse_target("loss<=0.5").value();
  EXPECT_EQ(ending().undecided(0), 0);
}

TEST(RetriedTrial, MayEndOtherwiseIfItWasNotItsOwnFault) {
  TrialRecord trial;
  EXPECT_FALSE(may_differ_when_retried(trial));
  for (const Cause cause : {Cause::kCrashed, Cause::kTimeout, Cause::kOutOfMemory}) {
    trial.failure = cause;
    EXPECT_TRUE(may_differ_when_retried(trial));
  }
  for (const Cause cause : {Cause::kDiverged, Cause::kTooLarge, Cause::kInvalid}) {
    trial.failure = cause;
    EXPECT_FALSE(may_differ_when_retried(trial));
  }
}

}  // namespace
}  // namespace detol
