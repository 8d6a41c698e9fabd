#pragma once

// CommandOnBase is a fixture for commands over studies that a test writes into a base of its own.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "knowledge/ledger.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

class CommandOnBase : public testing::Test {
 protected:
  using Json = nlohmann::json;

  // Answer is what a command printed, or its error.
  struct Answer {
    Result<int> code = 0;
    std::string out;
  };

  std::string storage() const { return (folder_.path() / "detol.db").string(); }

  // Appends a trial of one epoch with these metrics, of which the first is the objective.
  static void append_trial(Ledger& ledger, StudyId study, TrialId id, const Genome& genome,
                           const std::vector<std::pair<std::string, double>>& metrics,
                           TrialState state = TrialState::kComplete) {
    event::Asked asked;
    asked.trial = id;
    asked.params = genome.assignments();
    event::Started started;
    started.trial = id;
    event::Reported reported;
    reported.trial = id;
    reported.epoch = 1;
    reported.metrics = metrics;
    event::Told told;
    told.trial = id;
    told.state = state;
    told.outcome = Measured{.values = {metrics.front().second}};
    if (state == TrialState::kFail) told.outcome = Failed{.cause = Cause::kCrashed};
    const std::vector<Event> events = {asked, started, reported, told};
    ASSERT_TRUE(ledger.append(study, events));
  }

  Answer run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--storage", storage(), "-q"});
    const auto call = parse(words);
    if (!call) return {.code = tl::unexpected<Error>(call.error()), .out = {}};
    testing::internal::CaptureStdout();
    Result<int> code = call->command->run(call->arguments);
    return {.code = std::move(code), .out = testing::internal::GetCapturedStdout()};
  }

  Json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"-f", "json"});
    const Answer answer = run(std::move(words));
    EXPECT_TRUE(answer.code) << answer.code.error().message;
    return Json::parse(answer.out, nullptr, false);
  }

 private:
  TempFolder folder_;
};

}  // namespace detol::testing_support
