// A training of one study is found by others that would do the same.

#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::failed;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

constexpr const char* kIdentity = "00000000000000ab";

event::Asked asked_for(TrialId trial) {
  event::Asked event = asked(trial);
  event.identity = kIdentity;
  return event;
}

// Two studies: `s` has the events, `other` asks.
struct TwoStudies : OneStudy {
  StudyId other = must(ledger->create_study(study_named("other")));

  std::optional<KnownTrial> known(std::optional<int> ranks = std::nullopt) {
    return must(ledger->known_trial(kIdentity, other, ranks));
  }
};

TEST(KnownTrial, IsTheOneThatWasTrainedToItsEndWithItsWholeCurve) {
  TwoStudies two;
  two.append({asked_for(0), started(0, 1), reported(0, 1, 1, 0.1), reported(0, 1, 2, 0.2),
              started(0, 2), reported(0, 2, 2, 0.3), complete(0, 0.3, 2)});
  const auto known = two.known();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->study, "s");
  EXPECT_EQ(known->trial, 0U);
  ASSERT_EQ(known->reports.size(), 2U);
  EXPECT_EQ(describe(Event(known->reports[0])), describe(Event(reported(0, 1, 1, 0.1))));
  EXPECT_EQ(describe(Event(known->reports[1])), describe(Event(reported(0, 2, 2, 0.3))));
  EXPECT_EQ(describe(Event(known->told)), describe(Event(complete(0, 0.3, 2))));
}

TEST(KnownTrial, IsOfAnotherStudyAndOfThisIdentity) {
  TwoStudies two;
  two.append({asked_for(0), started(0, 1), reported(0, 1, 1, 0.1), complete(0, 0.1)});
  EXPECT_FALSE(must(two.ledger->known_trial(kIdentity, two.study, std::nullopt)));
  EXPECT_FALSE(must(two.ledger->known_trial("00000000000000ac", two.other, std::nullopt)));
  two.reopen();
  EXPECT_TRUE(two.known());
}

// Where the ranks of a group change the numbers, another number of them is another training.
TEST(KnownTrial, IsOfAsManyRanksWhereTheseCount) {
  TwoStudies two;
  const auto by = [](TrialId trial, int attempt, int ranks) {
    event::Started event = started(trial, attempt);
    event.group_size = ranks;
    return event;
  };
  two.append({asked_for(0), by(0, 1, 2), reported(0, 1, 1, 0.1), complete(0, 0.1), asked_for(1),
              by(1, 1, 4), reported(1, 1, 1, 0.2), complete(1, 0.2), asked_for(2), by(2, 1, 8),
              by(2, 2, 16), reported(2, 2, 1, 0.3), complete(2, 0.3)});
  EXPECT_EQ(two.known()->trial, 0U);
  EXPECT_EQ(two.known(2)->trial, 0U);
  EXPECT_EQ(two.known(4)->trial, 1U);
  EXPECT_FALSE(two.known(1));
  EXPECT_FALSE(two.known(16)) << "an attempt of it was of eight";
}

TEST(KnownTrial, IsNoneThatDidNotEndByItself) {
  struct Case {
    const char* what;
    event::Told told;
    bool answers;
  };
  event::Told pruned = complete(0, 0.1), answered = complete(0, 0.1);
  pruned.state = TrialState::kPruned;
  pruned.reason = {EndCause::kPruner, "asha"};
  answered.reason = {EndCause::kSameTrial, "third", 4};
  for (const Case& each :
       {Case{"complete", complete(0, 0.1), true}, Case{"pruned", pruned, false},
        Case{"answered", answered, false}, Case{"diverged", failed(0, Cause::kDiverged), true},
        Case{"crashed", failed(0, Cause::kCrashed), false}}) {
    TwoStudies two;
    two.append({asked_for(0), started(0, 1), reported(0, 1, 1, 0.1), each.told});
    EXPECT_EQ(two.known().has_value(), each.answers) << each.what;
  }
  TwoStudies two;
  two.append({asked_for(0), started(0, 1), reported(0, 1, 1, 0.1), complete(0, 0.1),
              event::Requeued{0, 1, {RequeueCause::kPromoted}}});
  EXPECT_FALSE(two.known()) << "it is trained further";
}

}  // namespace
}  // namespace detol
