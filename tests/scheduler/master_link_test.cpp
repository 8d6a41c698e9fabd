#include "scheduler/processes/master_link.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/scheduler/pool_fixture.h"

namespace detol::testing_support {
namespace {

// The worker's side of the connection, with a master that the test plays.
class MasterLinkTest : public testing::Test {
 protected:
  // Returns the next message of the kind that the worker sends.
  template <typename M>
  std::optional<M> received() {
    for (int turn = 0; turn < kTurns; ++turn) {
      master.wait(-1, kTurnS);
      while (const auto packet = master.receive()) {
        worker = packet->from;
        const Message message = decode(packet->bytes).value();
        if (const auto* one = std::get_if<M>(&message)) return *one;
      }
    }
    return std::nullopt;
  }
  void say(const Message& message) { ASSERT_TRUE(master.send(encode(message), worker)); }
  static message::Train train(TrialId trial) {
    message::Train train;
    train.trial = trial;
    train.attempt = 1;
    return train;
  }

  // Gives the worker trial 5, of which it reports an epoch; returns the verdict to come.
  std::future<Verdict> first_report() {
    EXPECT_TRUE(received<message::Hello>());
    say(message::Setup{.config = "c", .backend = "b", .task = {}});
    EXPECT_TRUE(link->join());
    link->set_ready();
    say(train(5));
    EXPECT_EQ(link->next()->trial, 5u);
    auto verdict = std::async(std::launch::async,
                              [&] { return link->report({.epoch = 1, .metrics = {}}, false); });
    EXPECT_TRUE(received<message::Report>());
    return verdict;
  }

  TempFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "s").string();
  Socket master = Socket::router(endpoint).value();
  std::string worker;
  std::unique_ptr<MasterLink> link = MasterLink::open({.endpoint = endpoint}).value();
};

TEST_F(MasterLinkTest, AVerdictThatStopsATrialEndsItAndTheNextOneMayFollowAtOnce) {
  auto verdict = first_report();
  say(message::ReportAck{5, 1, 1, Verdict::kStop});
  say(train(6));
  EXPECT_EQ(verdict.get(), Verdict::kStop);
  link->end({.reason = {}}, message::Ended::Trouble::kNone);  // says nothing, and does not wait
  ASSERT_EQ(link->next()->trial, 6u);
  auto ended =
      std::async([&] { link->end({.reason = "it broke"}, message::Ended::Trouble::kCrash); });
  const auto of_next = received<message::Ended>();
  ASSERT_TRUE(of_next);
  EXPECT_EQ(of_next->trial, 6u);
  say(message::EndAck{6, 1});
  ended.get();
}

// A program of the user has its grace after such a verdict; the master waits for its end.
TEST_F(MasterLinkTest, SaysWhenATrialThatAVerdictEndedIsGone) {
  auto verdict = first_report();
  say(message::ReportAck{5, 1, 1, Verdict::kStop});
  EXPECT_EQ(verdict.get(), Verdict::kStop);
  link->end({.reason = {}}, message::Ended::Trouble::kNone);
  const auto gone = received<message::Ended>();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->trial, 5u);
  EXPECT_EQ(gone->attempt, 1);
}

}  // namespace
}  // namespace detol::testing_support
