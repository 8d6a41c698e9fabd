// What changed in a base since a reader looked last, as pages that follow a search ask for it.

#include "knowledge/changes.h"

#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::describe;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

TEST(Changes, ProgressIsThatOfEveryStudyTheNewestFirst) {
  OneStudy one;
  one.append({asked(0), asked(1), started(0, 1), reported(0, 1, 1, 0.5)});
  must(one.ledger->create_study(study_named("newer")));
  const auto reader = must(Reader::open(one.path));
  const auto studies = must(progress_of_studies(*reader));
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[0].name, "newer");
  EXPECT_EQ(studies[0].last, 0);
  EXPECT_FALSE(studies[0].best);
  EXPECT_EQ(studies[1].id, one.study);
  EXPECT_EQ(studies[1].trials, 2);
  EXPECT_EQ(studies[1].last, 4);
  EXPECT_EQ(studies[1].best, 0.5);
  EXPECT_EQ(studies[1].state, StudyPhase::kRunning);
  one.append({reported(0, 1, 2, 0.25), event::StudyState{StudyPhase::kRunning, "1cpu-h", 1}});
  one.append({started(1, 1), reported(1, 1, 1, 0.75), reported(1, 1, 2, 0.125)});
  EXPECT_FALSE(must(progress_of_studies(*reader))[1].best) << "it is not known at once";
  one.append({event::StudyState{StudyPhase::kDone, "1cpu-h", 2}});
  EXPECT_EQ(must(progress_of_studies(*reader))[1].state, StudyPhase::kDone);
  EXPECT_EQ(must(progress_of_studies(*reader))[1].best, 0.25);
}

TEST(Changes, AreOfTheTrialsThatHaveEventsSince) {
  OneStudy one;
  one.append({asked(0), asked(2), event::StudyState{StudyPhase::kRunning, "1cpu-h", 1}, asked(1),
              started(2, 1)});
  const auto reader = must(Reader::open(one.path));
  using Trials = std::vector<TrialId>;
  EXPECT_EQ(must(changed_trials(*reader, one.study, 0)), (Trials{0, 1, 2}));
  EXPECT_EQ(must(changed_trials(*reader, one.study, 2)), (Trials{1, 2}));
  EXPECT_EQ(must(changed_trials(*reader, one.study, 4)), Trials{2});
  EXPECT_EQ(must(changed_trials(*reader, one.study, 5)), Trials{});
}

TEST(Changes, AttemptsHaveTheirOwnSecondsAndTheWorkSoFar) {
  OneStudy one;
  event::Requeued lost{0, 1, requeue_reason_from("lost")};
  lost.unreported_s = 1.5;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), lost, started(0, 2, "w2"),
              reported(0, 2, 2, 0.6), reported(0, 2, 3, 0.7), asked(1), started(1, 1), asked(2),
              started(2, 1)});
  const auto reader = must(Reader::open(one.path));
  const TrialId trials[] = {1, 0};
  std::vector<std::string> lines;
  for (const auto& row : must(attempts_of(*reader, one.study, trials)).rows)
    lines.push_back(describe(row));
  EXPECT_EQ(lines, (std::vector<std::string>{"0|w1|12|4|1000000000", "0|w2|13|5|3000000000",
                                             "1|w1|12|0|"}));
}

TEST(Changes, OfTheStateAreInTheirOrderBeforeTheLastAccount) {
  OneStudy one;
  one.append({event::StudyState{StudyPhase::kRunning, "1cpu-h", 1}, asked(0),
              event::StudyState{StudyPhase::kStopped, "1cpu-h", 9}, event::Accounted{5, 7}});
  const auto reader = must(Reader::open(one.path));
  const std::vector<Event> expected = {event::StudyState{StudyPhase::kRunning, "", 1},
                                       event::StudyState{StudyPhase::kStopped, "", 9},
                                       event::Accounted{5, 7}};
  EXPECT_EQ(describe(must(state_events(*reader, one.study))), describe(expected));
}

}  // namespace
}  // namespace detol
