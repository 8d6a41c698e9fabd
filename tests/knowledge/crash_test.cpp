// kill -9 at random moments: nothing acknowledged is lost, nothing is there twice.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/rng.h"
#include "knowledge/check.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::reported;
using testing_support::study_named;

constexpr int kEpochs = 5;

// Returns report `number`, counted from 0, trial by trial and epoch by epoch.
event::Reported report_number(int number) {
  const int trial = number / kEpochs;
  return reported(static_cast<TrialId>(trial), 1, number % kEpochs + 1, 1.0 / (number + 1));
}

// Appends reports from `first` on, in groups, sending the last number of each group into the
// pipe once append returned; never ends by itself.
[[noreturn]] void write_until_killed(const std::filesystem::path& path, int first, int group,
                                     int acknowledge) {
  const auto ledger = must(Ledger::open(path));
  const StudyId study = must(ledger->study("s")).id;
  for (int number = first;; number += group) {
    std::vector<Event> events;
    for (int i = 0; i < group; ++i) events.emplace_back(report_number(number + i));
    must(ledger->append(study, events));
    const int last = number + group - 1;
    (void)!::write(acknowledge, &last, sizeof last);
  }
}

// Kills the child after `kept` acknowledgements; returns the last number that it acknowledged.
int run_and_kill(const std::filesystem::path& path, int first, int group, int kept) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe_ends[0]);
    write_until_killed(path, first, group, pipe_ends[1]);
  }
  ::close(pipe_ends[1]);
  int last = first - 1;
  int received = 0;
  while (received<kept&& ::read(pipe_ends[0], &last, sizeof last)> 0) ++received;
  ::kill(child, SIGKILL);
  while (::read(pipe_ends[0], &last, sizeof last) > 0) {
  }
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  return last;
}

TEST(Crash, KillingTheWriterLosesNothingAcknowledgedAndDoublesNothing) {
  constexpr int kRounds = 20;
  Folder folder;
  const auto path = folder / "detol.db";
  must(must(Ledger::open(path))->create_study(study_named("s")));
  Rng rng(20261120);
  int next = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int group = 1 + static_cast<int>(rng.below(40));
    const int acknowledged = run_and_kill(path, next, group, static_cast<int>(rng.below(12)));
    const auto ledger = must(Ledger::open(path));
    const auto events = must(ledger->events(must(ledger->study("s")).id));
    ASSERT_GT(static_cast<int>(events.size()), acknowledged) << "round " << round;
    for (std::size_t i = 0; i < events.size(); ++i)
      ASSERT_EQ(describe(events[i]), describe(Event(report_number(static_cast<int>(i)))));
    // Events that were not acknowledged are sent again, whether they were committed or not.
    next = acknowledged + 1;
  }
  EXPECT_GT(next, kRounds);
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
}

}  // namespace
}  // namespace detol
