// What a caller does when the process that runs the study ends.

#include "scheduler/run/ask_session.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
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

// FakeMaster: a process that runs the study, as callers see it, and that each call ends.
class FakeMaster {
 public:
  explicit FakeMaster(const std::filesystem::path& join_file)
      : info_(rendezvous_info(folder_.path(), Reach::kSocket).value()) {
    std::filesystem::create_directories(join_file.parent_path());
    EXPECT_TRUE(publish(info_, join_file));
    start();
  }

  void start() {
    server_ =
        CallServer::start(info_.socket, info_.key, [this](const auto&, auto) { ++calls_; }).value();
  }
  void end() { server_.reset(); }
  int calls() const { return calls_; }

 private:
  TempFolder folder_;
  const RendezvousInfo info_;
  std::atomic<int> calls_ = 0;
  std::unique_ptr<CallServer> server_;
};

TEST(AskSession, DoesNotRepeatACallThatEndsWhoeverGetsIt) {
  const TempFolder folder;
  const auto storage = folder.path() / "detol.db";
  FakeMaster master(artefact_folder(storage, "s") / kJoinFile);
  auto session = AskSession::open(
      {.storage = storage, .study = "s", .config = load_study_config(kAskedSpace, "s").value()});
  ASSERT_TRUE(session) << session.error().message;
  auto answer = std::async(std::launch::async, [&] { return (*session)->call(R"({"ask": 1})"); });
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
