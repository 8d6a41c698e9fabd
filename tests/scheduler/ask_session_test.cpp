// What a caller does when the process that runs the study ends.

#include "scheduler/run/ask_session.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "knowledge/artefacts.h"
#include "knowledge/studies.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/processes/calls.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

constexpr const char* kAskedSpace =
    "version: 1\nstudy: s\nexternal: {}\nparameters:\n  x: {type: float, low: 0, high: 1}\n"
    "objectives: [{metric: loss, direction: minimize}]\nsearch: {algorithm: random}\n";

// FakeMaster: a process that runs the study, as callers see it.
class FakeMaster {
 public:
  explicit FakeMaster(std::filesystem::path join_file, std::optional<int> answers_after_ms = {})
      : info_(rendezvous_info(folder_.path(), Reach::kSocket).value()),
        file_(std::move(join_file)) {
    std::filesystem::create_directories(file_.parent_path());
    start(answers_after_ms);
  }
  ~FakeMaster() { end(); }

  // As after a kill: the same key and the same socket.
  void start(std::optional<int> answers_after_ms = {}) {
    EXPECT_TRUE(publish(info_, file_));
    const auto take = [this, answers_after_ms](const auto&, auto answer) {
      ++calls_;
      if (!answers_after_ms) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(*answers_after_ms));
      answer("{}");
    };
    server_ = CallServer::start(info_.socket, info_.key, take).value();
  }
  void end() { server_.reset(); }
  int calls() const { return calls_; }

 private:
  TempFolder folder_;
  const RendezvousInfo info_;
  const std::filesystem::path file_;
  std::atomic<int> calls_ = 0;
  std::unique_ptr<CallServer> server_;
};

class AskSessionTest : public testing::Test {
 protected:
  std::unique_ptr<AskSession> session() const {
    auto opened = AskSession::open(
        {.storage = storage_, .study = "s", .config = load_study_config(kAskedSpace, "s").value()});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  static std::future<Result<std::string>> ask(AskSession& session) {
    return std::async(std::launch::async, [&] { return session.call(R"({"ask": 1})"); });
  }

  const TempFolder folder_;
  const std::filesystem::path storage_ = folder_.path() / "detol.db";
  const std::filesystem::path join_file_ = artefact_folder(storage_, "s") / kJoinFile;
};

TEST_F(AskSessionTest, SendsACallAgainHoweverSoonAnotherProcessRunsTheStudy) {
  FakeMaster killed(join_file_);
  const auto asking = session();
  auto answer = ask(*asking);
  while (killed.calls() < 1) std::this_thread::yield();
  killed.end();
  const FakeMaster other(join_file_, 0);
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(answer.get(), "{}");
}

TEST_F(AskSessionTest, SendsACallAgainHoweverSoonAMasterIsReplaced) {
  FakeMaster master(join_file_);
  const auto asking = session();
  auto answer = ask(*asking);
  while (master.calls() < 1) std::this_thread::yield();
  master.end();
  master.start(0);
  const bool is_over = answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(is_over) << "it was not sent again";
  if (!is_over) master.end();  // then the caller opens the study itself
  EXPECT_EQ(answer.get(), "{}");
  EXPECT_EQ(master.calls(), 2);
}

TEST_F(AskSessionTest, SendsACallOnceToAMasterThatWasReplacedBefore) {
  FakeMaster master(join_file_, 0);
  const auto asking = session();
  ASSERT_EQ(ask(*asking).get(), "{}");
  master.end();
  master.start(1'000);  // longer than a caller waits until it looks who is there
  EXPECT_EQ(ask(*asking).get(), "{}");
  EXPECT_EQ(master.calls(), 2);
}

TEST_F(AskSessionTest, DoesNotRepeatACallThatEndsWhoeverGetsIt) {
  FakeMaster master(join_file_);
  const auto asking = session();
  auto answer = ask(*asking);
  for (const int ended : {1, 2}) {
    while (master.calls() < ended) std::this_thread::yield();
    master.end();
    // A caller looks every 0.2 s, and takes a study over after 2 s.
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    master.start();
  }
  const bool is_over = answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(is_over) << "it was sent a third time";
  if (!is_over) master.end();  // then the caller opens the study itself
  const auto refused = answer.get();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("ended 2 times soon after it was sent this call"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(master.calls(), 2);
}

}  // namespace
}  // namespace detol
