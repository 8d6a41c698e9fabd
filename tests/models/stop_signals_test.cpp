// What signals to stop do to work that any instant may end, and to work that hears of them.

#include "models/stop_signals.h"

#include <poll.h>

#include "tests/support/in_child.h"

namespace detol {
namespace {

using testing_support::status_of_child;

TEST(ExitAtSignals, EndsTheProcessWithItsCodeAsLongAsItLives) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    const int inside = status_of_child([&] {
      const ExitAtSignals exits(7);
      std::raise(signal);
    });
    EXPECT_TRUE(WIFEXITED(inside));
    EXPECT_EQ(WEXITSTATUS(inside), 7) << signal;
    const int after = status_of_child([&] {
      { const ExitAtSignals exits(7); }
      std::raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(after));
    EXPECT_EQ(WTERMSIG(after), signal);
  }
}

bool is_readable(const AwaitedSignals& signals) {
  pollfd polled{signals.descriptor(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(AwaitedSignals, AreToldInsteadOfEndingTheProcess) {
  AwaitedSignals signals;
  EXPECT_FALSE(is_readable(signals));
  EXPECT_FALSE(signals.take());
  std::raise(SIGTERM);
  EXPECT_TRUE(is_readable(signals));
  EXPECT_EQ(signals.next(), SIGTERM);
  EXPECT_EQ(signals.next(), std::nullopt) << "each is told once";
  std::raise(SIGINT);
  std::raise(SIGUSR1);
  EXPECT_TRUE(signals.take());
  EXPECT_FALSE(signals.take()) << "all of them were taken";
}

TEST(AwaitedSignals, HaveOthersOnlyWhereTheyAreNamed) {
  AwaitedSignals signals{SIGTSTP};
  std::raise(SIGTSTP);
  EXPECT_EQ(signals.next(), SIGTSTP);
}

TEST(AwaitedSignals, EndTheProcessAgainBehindThem) {
  const int after = status_of_child([] {
    { const AwaitedSignals signals; }
    std::raise(SIGTERM);
  });
  EXPECT_TRUE(WIFSIGNALED(after));
}

TEST(AwaitedSignals, AreIgnoredByAChildThatItsParentStops) {
  const AwaitedSignals signals;
  const int ended = status_of_child([&] {
    signals.ignore_in_child();
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::raise(signal);
  });
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(WEXITSTATUS(ended), 0);
}

}  // namespace
}  // namespace detol
